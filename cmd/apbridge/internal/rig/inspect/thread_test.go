package inspect

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/examples/legacyagent"
)

// submit sends a form like a browser, without following redirects.
func submit(t *testing.T, b *rig.Bridge, path string, in url.Values, headers ...string) rig.Answer {
	t.Helper()
	head := append([]string{"Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin"}, headers...)
	return b.Do("POST", path, in.Encode(), append(head, asBrowser...)...)
}

var hidden = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)

// confirmation submits a form and returns the form of the confirmation page.
func confirmation(t *testing.T, b *rig.Bridge, path string, in url.Values, headers ...string) url.Values {
	t.Helper()
	page := submit(t, b, path, in, headers...).Want(t, 200, ">Back</a>")
	out := url.Values{}
	for _, m := range hidden.FindAllStringSubmatch(page.String(), -1) {
		out.Set(m[1], unescaped.Replace(m[2]))
	}
	if out.Get("sure") != "yes" || out.Get("once") == "" {
		t.Fatalf("no confirmation page: %s", page)
	}
	return out
}

var unescaped = strings.NewReplacer("&#34;", `"`, "&#39;", "'", "&lt;", "<", "&gt;", ">", "&amp;", "&", "&#43;", "+")

// submitConfirmed submits a form, confirms it, and returns the thread, or the thread of the run, to which the page
// redirects.
func submitConfirmed(t *testing.T, b *rig.Bridge, path string, in url.Values, headers ...string) (thread string) {
	t.Helper()
	got := submit(t, b, path, confirmation(t, b, path, in, headers...), headers...).Want(t, 303)
	if _, run, ok := strings.Cut(got.Header.Get("Location"), "inspect/runs/"); ok {
		return b.Do("GET", "/inspect/runs/"+run, "", headers...).OK().Text("thread_id")
	}
	_, thread, _ = strings.Cut(got.Header.Get("Location"), "inspect/threads/")
	if strings.HasPrefix(got.Header.Get("Location"), "/") || thread == "" {
		t.Fatalf("redirected to %q", got.Header.Get("Location"))
	}
	return thread
}

// settled waits until a thread has no active run, and returns its page.
func settled(t *testing.T, b *rig.Bridge, thread string) (page rig.Answer) {
	t.Helper()
	rig.Eventually(t, "the run ends", func() bool {
		page = b.Get("/inspect/threads/" + thread).OK()
		return page.Text("status") == "idle"
	})
	return page
}

// TestThreadPageHasTheMarkOfItsStream checks that the page and its stream have the same mark as long as nothing
// changes, so that the page gets changes that happen before it connects.
func TestThreadPageHasTheMarkOfItsStream(t *testing.T) {
	t.Parallel()
	b := rig.Configured(t, rig.OneAgent, rig.Legacy())
	at := b.Thread()
	shown := func() string {
		m := regexp.MustCompile(`data-mark="(\w+)"`).FindSubmatch(show(t, b, "/inspect"+at).Body)
		if m == nil {
			t.Fatal("the page has no mark")
		}
		return string(m[1])
	}
	told := func() string {
		_, frames := b.Stream("GET", "/inspect"+at+"/events", "", 1)
		return frames[0].ID
	}
	b.On(at, `{"assistant_id":"a",`+rig.SaysHi+`}`).OK()
	before := shown()
	if told := told(); told != before {
		t.Errorf("the page has the mark %s, its stream begins with %s", before, told)
	}
	b.Post(at+"/state", `{"values":{"messages":[{"role":"user","content":"more"}]}}`).OK()
	if told := told(); told == before || told != shown() {
		t.Errorf("after a change the stream has the mark %s, before it %s, the page has %s", told, before, shown())
	}
}

// TestInspectorShowsAThread checks a conversation, its history with a fork, the difference between two states, and
// files with their versions.
func TestInspectorShowsAThread(t *testing.T) {
	t.Parallel()
	b := rig.Configured(t, rig.OneAgent, rig.Legacy())
	at := b.Thread()
	b.On(at, `{"assistant_id":"a","input":{"messages":[{"role":"user","content":"hi <b>there</b>"}]}}`).OK()
	first := b.Get("/inspect" + at).OK()
	if first.Text("conversation.turns.0.text.text") != "hi <b>there</b>" || first.Text("conversation.turns.1.role") != "agent" || first.Text("status") != "idle" {
		t.Fatalf("%s", first)
	}
	line := first.List("tree.groups.0.checkpoints")
	to, second, from := rig.Dig(line[0], "id").(string), rig.Dig(line[len(line)-2], "id").(string), rig.Dig(line[len(line)-1], "id").(string)
	if rig.Dig(line[len(line)-2], "news.role") != "person" || rig.Dig(line[len(line)-2], "news.text") != "hi <b>there</b>" || first.Text("tree.groups.0.request") != "hi <b>there</b>" {
		t.Errorf("the history: %s", first)
	}
	thread := submitConfirmed(t, b, "/inspect"+at+"/fork", url.Values{"checkpoint": {second}, "agent": {"a"}, "says": {"other\r\nwords"}})
	forked := settled(t, b, thread)
	if len(forked.List("runs")) != 2 || !strings.Contains(forked.String(), `"other\nwords"`) {
		t.Errorf("after a fork: %s", forked)
	}
	if groups := forked.List("tree.groups"); len(groups) != 2 || rig.Dig(groups[0], "checkpoints.0.head") != true || rig.Dig(groups[0], "checkpoints.0.lane") != 0.0 ||
		rig.Dig(groups[1], "checkpoints.0.id") != to || rig.Dig(groups[1], "checkpoints.0.tip") != true || rig.Dig(groups[1], "checkpoints.0.lane") != 1.0 {
		t.Errorf("the tree after a fork: %s", forked)
	}
	for _, r := range forked.List("tree.groups.1.checkpoints") {
		if (rig.Dig(r, "branches") != nil) != (rig.Dig(r, "id") == second) {
			t.Errorf("the fork is at %s: %v", second, r)
		}
	}
	b.Get("/inspect"+at+"/difference?from="+from+"&to="+to).Want(t, 200, `"kind":"added"`, "hi \\u003cb\\u003ethere", "messages added", "between the start and step")
	for _, query := range []string{"at=" + to + "&at=" + from, "at=" + from + "&at=" + to} {
		b.Get("/inspect"+at+"/difference?"+query).Want(t, 200, `"from":"`+from+`"`, `"to":"`+to+`"`)
	}
	b.Get("/inspect"+at+"/difference?at="+to).Want(t, 200, `"to":"`+to+`"`)
	b.Get("/inspect"+at+"/difference?at="+to+"&at="+from+"&at="+second).Want(t, 422, "Two checkpoints can be compared")
	b.Get("/inspect"+at+"/difference?to="+to).Want(t, 200, `"changes"`)
	for _, path := range []string{at, at + "/checkpoints/" + to, at + "/difference?from=" + from + "&to=" + to} {
		page := show(t, b, "/inspect"+path).String()
		if strings.Contains(page, "<b>there") || strings.Contains(page, `="/`) || strings.Contains(page, "Whole message") {
			t.Errorf("%s: %s", path, page)
		}
	}
	if page := show(t, b, "/inspect"+at).String(); !strings.Contains(page, "<h1><bdi>hi &lt;b&gt;there&lt;/b&gt;</bdi></h1>") {
		t.Errorf("the title is not the first request: %s", page)
	}
	whole := b.Get("/inspect"+at+"/checkpoints/"+to+"/messages/0").Want(t, 200, "hi <b>there</b>")
	for name, want := range map[string]string{"Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff"} {
		if whole.Header.Get(name) != want || !strings.HasPrefix(whole.Header.Get("Content-Disposition"), "attachment") {
			t.Errorf("%s: %v", name, whole.Header)
		}
	}
	b.Get("/inspect"+at+"/checkpoints/"+to+"/values").Want(t, 200, "messages")
	for _, path := range []string{"/messages/99", "/messages/x"} {
		b.Get("/inspect"+at+"/checkpoints/"+to+path).Want(t, 404)
	}
}

// TestInspectorPagesThroughHistory checks a history of two pages: a line that is open at the end of the first continues
// on the second, and a checkpoint that was selected on the first can be compared with one of the second.
func TestInspectorPagesThroughHistory(t *testing.T) {
	t.Parallel()
	b := rig.Configured(t, rig.OneAgent, rig.Legacy())
	at := b.Thread()
	update := func(values, from string) string {
		return b.Post(at+"/state", `{"values":`+values+`,"checkpoint_id":`+from+`}`).OK().Text("checkpoint.checkpoint_id")
	}
	root := update(`{"n":0}`, "null")
	fork := update(`{"n":1}`, "null")
	for n := 2; n < 204; n++ {
		update(fmt.Sprintf(`{"n":%d}`, n), "null")
	}
	head := update(`{"note":"other"}`, `"`+fork+`"`)
	first := b.Get("/inspect" + at).OK()
	lines := first.List("tree.lines")
	if first.Text("tree.groups.0.checkpoints.0.id") != head || len(first.List("tree.groups.0.checkpoints")) != 200 || len(lines) != 2 || lines[0] != fork {
		t.Fatalf("the first page leads on to %v: %.3000s", lines, first)
	}
	form := regexp.MustCompile(`<button name="older" value="([^"]*)" formaction="([^"]*)#history">`).FindStringSubmatch(show(t, b, "/inspect"+at).String())
	if form == nil {
		t.Fatal("the first page has no button for older checkpoints")
	}
	query := url.Values{"older": {form[1]}, "at": {head}}.Encode()
	second := b.Get("/inspect" + at + "?" + query).OK()
	rows := second.List("tree.groups.0.checkpoints")
	if len(rows) != 5 || strings.Contains(second.String(), `"older"`) || rig.Dig(rows[0], "lane") != 1.0 || rig.Dig(rows[0], "tip") != nil ||
		rig.Dig(rows[2], "off") != fork || rig.Dig(rows[3], "id") != fork || rig.Dig(rows[3], "lane") != 0.0 || rig.Dig(rows[3], "branches") != 2.0 || rig.Dig(rows[4], "id") != root {
		t.Errorf("the second page: %s", second)
	}
	if text := rig.Dig(rows[4], "news.text"); text != "1 value changed: n" {
		t.Errorf("the first checkpoint: %v", text)
	}
	page := show(t, b, "/inspect"+at+"?"+query).String()
	if !strings.Contains(page, `value="`+head+`" checked`) || strings.Count(page, " checked") != 1 || !strings.Contains(page, "Newest checkpoints") {
		t.Error("the second page does not keep the selection")
	}
	b.Get("/inspect"+at+"/difference?at="+root+"&at="+head).Want(t, 200, `"from":"`+root+`"`, `"summary":"1 value added, 1 value changed between step`)
	for _, bad := range []string{"older=x", "older=" + root + ",,,x", "older=" + root + strings.Repeat(",y", 500), "at=" + strings.Repeat("x", 1000)} {
		if got := b.Do("GET", "/inspect"+at+"?"+bad, "", asBrowser...); got.Status != 200 && got.Status != 404 {
			t.Errorf("%.40s: %d", bad, got.Status)
		}
	}
}

// TestHistoryOfLargeStates checks that a page reads only a few large states, and names the checkpoints that it does not
// describe.
func TestHistoryOfLargeStates(t *testing.T) {
	t.Parallel()
	b := rig.Configured(t, rig.OneAgent, rig.Legacy())
	at := b.Thread()
	for n := range 12 {
		b.Post(at+"/state", fmt.Sprintf(`{"values":{"n":%d,"text":"%s"}}`, n, strings.Repeat("x", 1<<20))).OK()
	}
	rows := b.Get("/inspect" + at).OK().List("tree.groups.0.checkpoints")
	if len(rows) != 12 || rig.Dig(rows[0], "news.text") != "1 value changed: n" || rig.Dig(rows[11], "news") != nil {
		t.Errorf("%v", rows)
	}
	if page := show(t, b, "/inspect"+at).String(); !strings.Contains(page, "only the newest checkpoints have a description") {
		t.Error("the page does not say that states are large")
	}
}

// TestInspectorShowsFiles checks that each version has its bytes, and that browsers download them instead of showing
// them.
func TestInspectorShowsFiles(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, adaptertest.NewStepAgent(adaptertest.AutoGPT))
	at := b.Thread()
	b.On(at, `{"input":"hi"}`)
	told := b.Get("/inspect" + at).OK()
	files := told.List("files")
	if len(files) == 0 {
		t.Fatalf("%s", told)
	}
	version := rig.Dig(files[0], "versions.0.version")
	text, _ := json.Marshal(version)
	got := b.Get("/inspect" + at + "/files/" + string(text)).OK()
	if !strings.HasPrefix(got.Header.Get("Content-Disposition"), "attachment; filename=") || got.Header.Get("Content-Type") != "application/octet-stream" || len(got.Body) == 0 {
		t.Errorf("%v", got.Header)
	}
	part := b.Do("GET", "/inspect"+at+"/files/"+string(text), "", "Range", "bytes=1-", "If-Range", got.Header.Get("ETag")).Is(206)
	if string(part.Body) != string(got.Body[1:]) {
		t.Errorf("from the second byte: %q of %q", part.Body, got.Body)
	}
	for _, v := range []string{"0", "999999", "x"} {
		b.Get("/inspect"+at+"/files/"+v).Want(t, 404)
	}
}

// answering starts a bridge with two users and an open question.
func answering(t *testing.T) (b *rig.Bridge, agent *adaptertest.ThreadAgent, at, log string) {
	t.Helper()
	log = filepath.Join(t.TempDir(), "audit.log")
	agent = rig.Asking(adaptertest.ChatPlay())
	b = rig.Configured(t, "audit: {file: "+log+"}\nagents: {a: {url: $A, dialect: threadrun}}\nauth: {keys: [{id: ann, key: 0123456789abcdef0123456789abcdef},"+
		"{id: bob, key: 1123456789abcdef0123456789abcdef}, {id: eve, key: 2123456789abcdef0123456789abcdef, tenant: other},"+
		"{id: looks, key: 3123456789abcdef0123456789abcdef, rights: [inspect, read]}]}", map[string]http.Handler{"a": agent})
	id := b.Do("POST", "/threads", "{}", ann...).OK().Text("thread_id")
	at = "/threads/" + id
	b.Do("POST", at+"/runs/wait", `{"assistant_id":"a","input":{"messages":[{"role":"user","content":"hi"}]}}`, ann...).OK()
	return b, agent, at, log
}

var (
	ann   = []string{"X-Api-Key", "0123456789abcdef0123456789abcdef"}
	bob   = []string{"X-Api-Key", "1123456789abcdef0123456789abcdef"}
	eve   = []string{"X-Api-Key", "2123456789abcdef0123456789abcdef"}
	looks = []string{"X-Api-Key", "3123456789abcdef0123456789abcdef"}
)

const asked = "74462228383d847ecfda1c079720e8fc"

// TestInspectorAnswers checks that a form answers a question after confirmation, that the log has the key, and that the
// second of two concurrent answers gets an error that names the first.
func TestInspectorAnswers(t *testing.T) {
	t.Parallel()
	b, agent, at, log := answering(t)
	if v := b.Do("GET", "/inspect", "", ann...).OK(); v.At("runs.0.answered") != nil {
		t.Errorf("an open question is answered: %s", v)
	}
	page := string(b.Do("GET", "/inspect"+at, "", append(ann, asBrowser...)...).Want(t, 200, "send_mail", `<span class="status interrupted">interrupted</span>`, `value="edit"`, "#say").Body)
	if mayLook := b.Do("GET", "/inspect"+at, "", append(looks, asBrowser...)...).Want(t, 200, ">Difference<").String(); strings.Contains(mayLook, "#say") {
		t.Error("a key without the right to run agents gets a link to continue")
	}
	if strings.Contains(page, `value="ignore"`) {
		t.Error("the page offers a decision that the question does not allow")
	}
	path, in := "/inspect"+at+"/answer", url.Values{"question": {asked}, "decision-0": {"approve"}}
	before := agent.Work()
	anns, bobs := confirmation(t, b, path, in, ann...), confirmation(t, b, path, in, bob...)
	if got := agent.Work(); got != before {
		t.Errorf("%d calls of the agent before the confirmation", got-before)
	}
	submit(t, b, path, in, ann...).Want(t, 200, "approve send_mail</pre>")
	submit(t, b, path, in, looks...).Want(t, 403)
	submit(t, b, path, in, eve...).Want(t, 404)
	for _, bad := range []url.Values{{"question": {asked}}, {"question": {asked}, "decision-0": {"ignore"}}, {"question": {asked}, "json": {"{"}}} {
		submit(t, b, path, bad, ann...).Want(t, 422)
	}
	submit(t, b, path, anns, ann...).Want(t, 303)
	second := submit(t, b, path, anns, ann...).Want(t, 303) // a second click redirects to the same page
	if !strings.HasSuffix(second.Header.Get("Location"), "inspect"+at) {
		t.Errorf("a second click redirects to %q", second.Header.Get("Location"))
	}
	anns.Set("json", `"other"`)
	submit(t, b, path, anns, ann...).Want(t, 409, "answered already", "ann")
	submit(t, b, path, bobs, bob...).Want(t, 409, "answered already", "ann")
	submit(t, b, path, in, bob...).Want(t, 409, "answered already", "ann")
	submit(t, b, path, url.Values{"question": {rig.UnknownQuestion}, "words": {"x"}}, bob...).Want(t, 409, "not open")
	rig.Eventually(t, "the answer's run ends", func() bool {
		return b.Do("GET", "/inspect"+at, "", ann...).Text("status") == "idle"
	})
	runs := b.Do("GET", "/inspect"+at, "", ann...).OK()
	if len(runs.List("runs")) != 2 || runs.At("runs.1.answered") != true || runs.At("runs.0.answered") != nil {
		t.Errorf("%v", runs.At("runs"))
	}
	for path, times := range map[string]int{"/inspect": 1, "/inspect" + at: 2} { // the thread's page has it in the history and in the runs
		text := string(b.Do("GET", path, "", append(ann, asBrowser...)...).OK().Body)
		if n := strings.Count(text, `<span class="status answered">answered</span>`); n != times || strings.Contains(text, `<span class="status interrupted">`) {
			t.Errorf("%s: %d answered runs", path, n)
		}
	}
	rig.Eventually(t, "the audit log has the answer", func() bool {
		text, err := os.ReadFile(log)
		return err == nil && rig.Says(string(text), `"operation":"answered","kind":"run"`, `"outcome":"done","status":303,"key":"ann"`, "/inspect/threads/{thread_id}/answer") && strings.Count(string(text), `"status":303,"key":"ann"`) <= 2
	})
}

// TestInspectorRunsAgain repeats a run unchanged, with another input, from the same start, and with another agent. It
// also checks the program for each.
func TestInspectorRunsAgain(t *testing.T) {
	t.Parallel()
	b := rig.Configured(t, "default_agent: a\nwebhooks: {allow_private_networks: true}\nagents: {a: {url: $A}, b: {url: $A}}", rig.Legacy())
	at := b.Thread()
	for _, said := range []string{"one", "two"} {
		b.On(at, `{"assistant_id":"a","input":{"messages":[{"role":"user","content":"`+said+`"}]}}`).OK()
	}
	run := b.Get("/inspect" + at).OK().Text("runs.0.run_id")
	again := "/inspect/runs/" + run + "/again"
	show(t, b, again)
	told := b.Get(again).Want(t, 200, "curl -s "+b.URL+"/runs/wait", "/ap/v1/agent/tasks", "langgraph_sdk")
	_, port, _ := strings.Cut(strings.TrimPrefix(b.URL, "http://"), ":")
	b.Do("GET", again, "", "Host", "localhost:"+port).Want(t, 200, "curl -s http://localhost:"+port+"/runs/wait")
	if told.Text("input") == "" || len(told.List("programs")) < 2 {
		t.Errorf("%s", told)
	}
	for _, tt := range []struct {
		in         url.Values
		same       bool
		agent, say string
		messages   int
	}{
		{url.Values{"where": {"new"}}, false, "a", "two", 2},
		{url.Values{"where": {"new"}, "agent": {"b"}, "input": {`{"messages":[{"role":"user","content":"three"}]}`}}, false, "b", "three", 2},
		{url.Values{"where": {"base"}}, true, "a", "two", 4},
		{url.Values{"where": {"new"}, "says": {"two"}, "input": {""}}, false, "a", "two", 2},
		{url.Values{"where": {"thread"}, "says": {"more"}}, true, "a", "more", 6},
	} {
		thread := submitConfirmed(t, b, again, tt.in)
		got := settled(t, b, thread)
		if ("/threads/"+thread == at) != tt.same || got.Text("runs.0.agent") != tt.agent || !strings.Contains(got.String(), `"text":"`+tt.say+`"`) {
			t.Errorf("%v: %s", tt.in, got)
		}
	}
	const webhook = "Its webhook is not called again."
	if page := submit(t, b, again, nil).String(); strings.Contains(page, webhook) {
		t.Errorf("the run has no webhook: %s", page)
	}
	b.On(at, `{"assistant_id":"a",`+rig.SaysHi+`,"webhook":"http://127.0.0.1:9/"}`).OK()
	submit(t, b, "/inspect/runs/"+newestRun(b)+"/again", nil).Want(t, 200, webhook)
	submit(t, b, again, url.Values{"input": {"{"}}).Want(t, 422)
	submit(t, b, again, url.Values{"where": {"elsewhere"}}).Want(t, 422)
	submit(t, b, again, url.Values{"agent": {"nobody"}}).Want(t, 404, "No assistant found") // before the confirmation page
	submit(t, b, "/inspect"+at+"/fork", url.Values{"agent": {"nobody"}, "says": {"x"}}).Want(t, 404, "No assistant found")
	submit(t, b, "/inspect/runs/"+run+"/cancel", confirmation(t, b, "/inspect/runs/"+run+"/cancel", nil)).Want(t, 409)
	for _, headers := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}} {
		b.Do("POST", again, "sure=yes", append(headers, "Content-Type", "application/x-www-form-urlencoded")...).Want(t, 403)
	}
}

// TestInspectorShowsHostileAgentsInert checks that all output of an agent is shown as text.
func TestInspectorShowsHostileAgentsInert(t *testing.T) {
	t.Parallel()
	said := `<script>alert(1)</script>\u001b[31mred\u202e` + strings.Repeat("x", 1<<20)
	agent := &adaptertest.StepAgent{Kind: adaptertest.AutoGPT, Script: []adaptertest.ScriptStep{{Output: `"` + said + `"`, Last: true}}}
	b := rig.InFront(t, agent)
	at := b.Thread()
	b.On(at, `{"input":"hi"}`).OK()
	page := show(t, b, "/inspect"+at).String()
	for _, bad := range []string{"<script>alert", "\x1b", "\u202e", strings.Repeat("x", 1<<13)} {
		if strings.Contains(page, bad) {
			t.Errorf("the page contains %.40q", bad)
		}
	}
	if len(page) > 100_000 || !rig.Says(page, "&lt;script&gt;alert(1)", `\u{1b}[31mred\u{202e}`, "bytes more") {
		t.Errorf("%d bytes: %.2000s", len(page), page)
	}
}

// TestInspectorOfUnknownIDs checks that unknown ids, and those of another tenant, are not found.
func TestInspectorOfUnknownIDs(t *testing.T) {
	t.Parallel()
	b, _, at, _ := answering(t)
	run := b.Do("GET", "/inspect"+at, "", ann...).OK().Text("runs.0.run_id")
	head := b.Do("GET", "/inspect"+at, "", ann...).OK().Text("head")
	const nobody = "00000000-0000-7000-8000-000000000000"
	paths := []string{at, at + "/events", at + "/files/1", at + "/difference", at + "/checkpoints/" + head, at + "/checkpoints/" + head + "/values", at + "/checkpoints/" + head + "/messages/0", "/runs/" + run + "/again"}
	for _, path := range paths {
		b.Do("GET", "/inspect"+path, "", eve...).Want(t, 404)
		unknown := strings.NewReplacer(strings.TrimPrefix(at, "/threads/"), nobody, run, nobody).Replace(path)
		b.Do("GET", "/inspect"+unknown, "", ann...).Want(t, 404)
	}
	b.Do("GET", "/inspect"+at+"/checkpoints/"+nobody, "", ann...).Want(t, 404)
	for _, path := range []string{at + "/answer", at + "/fork", "/runs/" + run + "/cancel", "/runs/" + run + "/again"} {
		submit(t, b, "/inspect"+path, url.Values{"sure": {"yes"}}, eve...).Want(t, 404)
	}
}

// watch returns the events of a page's stream.
func watch(t *testing.T, b *rig.Bridge, path string) <-chan string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", b.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := rig.PlainClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d", path, res.StatusCode)
	}
	events := make(chan string, 100)
	go func() {
		defer close(events)
		defer func() { _ = res.Body.Close() }()
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			if event, is := strings.CutPrefix(lines.Text(), "event: "); is {
				events <- event
			}
		}
	}()
	return events
}

// TestInspectorStreamReportsDeletion checks that the stream of a thread's or run's page reports changes and, as its
// last event, the deletion.
func TestInspectorStreamReportsDeletion(t *testing.T) {
	t.Parallel()
	b := rig.Configured(t, rig.OneAgent, rig.Legacy())
	at := b.Thread()
	events := watch(t, b, "/inspect"+at+"/events")
	first := <-events
	b.On(at, `{"assistant_id":"a","input":"hi"}`).OK()
	if second := <-events; first != "changed" || second != "changed" {
		t.Errorf("%q, %q", first, second)
	}
	run := watch(t, b, "/inspect/runs/"+newestRun(b)+"/events")
	if first := <-run; first != "changed" {
		t.Errorf("the run's stream: %q", first)
	}
	b.Do("DELETE", at, "").OK()
	for what, events := range map[string]<-chan string{"thread": events, "run": run} {
		last := ""
		for event := range events {
			last = event
		}
		if last != "gone" {
			t.Errorf("the last event of the %s is %q", what, last)
		}
	}
}

// TestInspectorAnswersOnce checks that one of many concurrent answers to a question is accepted, and that the others
// get an error with this reason.
func TestInspectorAnswersOnce(t *testing.T) {
	t.Parallel()
	b, _, at, _ := answering(t)
	path, in := "/inspect"+at+"/answer", url.Values{"question": {asked}, "decision-0": {"approve"}}
	forms := make([]url.Values, 8)
	for i := range forms {
		forms[i] = confirmation(t, b, path, in, ann...)
	}
	answers := make(chan rig.Answer, len(forms))
	for _, f := range forms {
		go func() {
			head := append([]string{"Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin"}, ann...)
			a, _ := b.Try(context.Background(), "POST", path, f.Encode(), append(head, asBrowser...)...)
			answers <- a
		}()
	}
	taken := 0
	for range forms {
		switch a := <-answers; {
		case a.Status == http.StatusSeeOther:
			taken++
		case a.Status != http.StatusConflict || !strings.Contains(a.String(), "answered already"):
			t.Errorf("%d %s", a.Status, a)
		}
	}
	if taken != 1 {
		t.Errorf("%d answers were accepted", taken)
	}
}

// TestInspectorShowsReceivedItems checks that the page of a run shows the items that the agent received, with their
// present values. A key without access to their namespace only sees their number.
func TestInspectorShowsReceivedItems(t *testing.T) {
	t.Parallel()
	b := rig.Configured(t, `
agents: {a: {url: $A, dialect: taskstep, memory: {namespaces: [shared, "users/{user}"]}}}
auth: {keys: [{id: ann, key: 0123456789abcdef0123456789abcdef}, {id: bob, key: 1123456789abcdef0123456789abcdef, namespaces: [shared]}]}`, rig.Legacy())
	put := func(namespace, key, value string) {
		b.Do("PUT", "/store/items", `{"namespace":`+namespace+`,"key":"`+key+`","value":{"text":"`+value+`"}}`, ann...).Is(204)
	}
	put(`["shared"]`, "rule", "be brief")
	put(`["shared"]`, "old", "soon gone")
	put(`["users","u1"]`, "name", "canary")
	at := "/threads/" + b.Do("POST", "/threads", "{}", ann...).OK().Text("thread_id")
	b.Do("POST", at+"/runs/wait", `{"assistant_id":"a","input":{"messages":[{"role":"user","content":"hi"}]},"config":{"configurable":{"user":"u1"}}}`, ann...).OK()
	put(`["shared"]`, "rule", "be long")
	b.Do("DELETE", "/store/items", `{"namespace":["shared"],"key":"old"}`, ann...).Is(204)
	all := b.Do("GET", "/inspect"+at, "", ann...).OK()
	if items := all.List("told.0.items"); len(items) != 3 || !rig.Says(all.String(), "be long", "canary", `"key":"old","gone":true`) || strings.Contains(all.String(), "be brief") {
		t.Errorf("%s", all)
	}
	some := b.Do("GET", "/inspect"+at, "", append(bob, asBrowser...)...).Want(t, 200, "be long", "1 that your key may not see").String()
	if strings.Contains(some, "canary") || strings.Contains(some, "users/u1") {
		t.Errorf("%s", some)
	}
}

// TestCallsHideItemsOutsideTheKeysNamespaces checks calls that contain items of the store. They are only shown and
// exported to keys with access to all these items. This includes runs that failed before they had a link, and later
// runs of the task that received no items. The names of the items are hidden like the items.
func TestCallsHideItemsOutsideTheKeysNamespaces(t *testing.T) {
	t.Parallel()
	refusing := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			http.Error(w, "no", http.StatusInternalServerError)
			return
		}
		adaptertest.NewStepAgent(adaptertest.Plain).ServeHTTP(w, r)
	})
	b := rig.Configured(t, `
agents:
  a: {url: $A, dialect: taskstep, memory: {namespaces: [shared, "users/{user}"]}}
  b: {url: $B, dialect: taskstep, retries: 0, memory: {namespaces: [shared, "users/{user}"]}}
  g: {url: $G, dialect: threadrun, memory: {namespaces: [shared, "users/{user}"]}}
inspector: {capture: all}
auth: {keys: [{id: ann, key: 0123456789abcdef0123456789abcdef}, {id: bob, key: 1123456789abcdef0123456789abcdef, namespaces: [shared]}]}`,
		map[string]http.Handler{"a": adaptertest.NewStepAgent(adaptertest.Plain), "b": refusing, "g": &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay()}}})
	for _, item := range []string{`["shared"],"key":"rule","value":{"text":"common"}`, `["users","u1"],"key":"nickname","value":{"text":"canary"}`} {
		b.Do("PUT", "/store/items", `{"namespace":`+item+`}`, ann...).Is(204)
	}
	for _, agent := range []string{"a", "b", "g"} {
		for user, withheld := range map[string]bool{"u1": true, "u2": false} {
			at := "/threads/" + b.Do("POST", "/threads", "{}", ann...).OK().Text("thread_id")
			run := b.Do("POST", at+"/runs", `{"assistant_id":"`+agent+`","input":{"messages":[{"role":"user","content":"hi"}]},"config":{"configurable":{"user":"`+user+`"}}}`, ann...).OK().Text("run_id")
			b.Do("GET", at+"/runs/"+run+"/join", "", ann...)
			page := "/inspect/runs/" + run
			var paths []string
			for _, c := range b.Do("GET", page, "", ann...).OK().List("calls") {
				n := fmt.Sprint(rig.Dig(c, "n"))
				paths = append(paths, page+"/calls/"+n, page+"/calls/"+n+"/sent", page+"/calls/"+n+"/received")
			}
			paths = append(paths, page, page+"/export/ndjson", page+"/export/har")
			for seq := range 9 {
				paths = append(paths, page+"/log/"+fmt.Sprint(seq))
			}
			all, shown := "", ""
			for _, path := range paths {
				all += b.Do("GET", path, "", ann...).String()
				shown += b.Do("GET", path, "", bob...).String()
			}
			if user == "u1" && (!rig.Says(all, "canary", "common")) {
				t.Errorf("%s: the items are in no call, so the test proves nothing", agent)
			}
			if rig.Says(shown, "canary") || rig.Says(shown, "nickname") {
				at := max(strings.Index(shown, "canary"), strings.Index(shown, "nickname"))
				t.Errorf("%s: a key sees items outside of its namespaces: …%s…", agent, shown[max(0, at-300):min(len(shown), at+100)])
			}
			if rig.Says(shown, "common") == withheld {
				t.Errorf("%s for %s: the calls are hidden: want %v", agent, user, withheld)
			}
			if withheld != rig.Says(shown, "of the key's namespaces") {
				t.Errorf("%s for %s: the reason for a missing body is absent, or present although the body is shown", agent, user)
			}
		}
	}
}

// TestInspectorActionsAreLogged checks that every action on the page of a run or a thread is logged with its key, and
// that a confirmation page is logged as a read.
func TestInspectorActionsAreLogged(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "audit.log")
	gate := rig.NewGate(legacyagent.Handler(), rig.StepPosts, 1)
	b := rig.Configured(t, "audit: {file: "+log+`}
agents: {a: {url: $A, dialect: taskstep}, waits: {url: $B, dialect: taskstep}}
default_agent: a
auth: {keys: [{id: ann, key: 0123456789abcdef0123456789abcdef}]}`, map[string]http.Handler{"a": legacyagent.Handler(), "b": gate})
	at := "/threads/" + b.Do("POST", "/threads", "{}", ann...).OK().Text("thread_id")
	b.Do("POST", at+"/runs/wait", `{"assistant_id":"a","input":"hi"}`, ann...).OK()
	shown := b.Do("GET", "/inspect"+at, "", ann...).OK()
	run := shown.Text("runs.0.run_id")
	works := b.Do("POST", "/threads", "{}", ann...).OK().Text("thread_id")
	working := b.Do("POST", "/threads/"+works+"/runs", `{"assistant_id":"waits","input":"hi"}`, ann...).OK().Text("run_id")
	gate.Await(t)
	defer gate.Open()
	for path, in := range map[string]url.Values{
		"/inspect/runs/" + run + "/again": {"where": {"new"}}, "/inspect" + at + "/fork": {"checkpoint": {shown.Text("head")}, "agent": {"a"}, "says": {"x"}},
		"/inspect/runs/" + working + "/cancel": nil,
	} {
		submit(t, b, path, confirmation(t, b, path, in, ann...), ann...).Want(t, 303)
	}
	for route, operation := range map[string]string{"/inspect/runs/{run_id}/again": "created", "/inspect/threads/{thread_id}/fork": "created", "/inspect/runs/{run_id}/cancel": "cancelled"} {
		rig.Eventually(t, "the log has the action at "+route, func() bool {
			text, err := os.ReadFile(log)
			if err != nil {
				return false
			}
			asked, done := 0, 0
			for line := range strings.SplitSeq(string(text), "\n") {
				switch {
				case !rig.Says(line, `"route":"`+route+`"`, `"key":"ann"`):
				case rig.Says(line, `"operation":"read"`, `"status":200`):
					asked++
				case rig.Says(line, `"operation":"`+operation+`"`, `"status":303`):
					done++
				}
			}
			return asked == 1 && done == 1
		})
	}
}
