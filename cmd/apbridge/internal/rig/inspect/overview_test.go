package inspect

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// TestInspectorListsRuns checks that the page and its JSON agree, and that their streams exist.
func TestInspectorListsRuns(t *testing.T) {
	t.Parallel()
	b := rig.Configured(t, rig.OneAgent, rig.Legacy())
	b.Wait(`{"messages":[{"role":"user","content":"hi"}]}`).OK()
	told := b.Get("/inspect").OK()
	id := told.Text("runs.0.run_id")
	if told.Text("runs.0.status") != "success" || told.Text("runs.0.agent") != "a" || told.At("runs.0.steps") != 3.0 {
		t.Errorf("%s", told)
	}
	page := b.Do("GET", "/inspect", "", asBrowser...).OK()
	policy := page.Header.Get("Content-Security-Policy")
	if strings.Contains(policy, "unsafe") || !strings.Contains(policy, "trusted-types 'none'") {
		t.Errorf("policy %s", policy)
	}
	if text := string(page.Body); !rig.Says(text, id, `href="inspect/runs/`+id, "<h1>Runs</h1>", `aria-current="page"`) || strings.Contains(text, `="/`) || strings.Contains(text, ">Key</th>") {
		t.Errorf("%s", text)
	}
	b.Do("GET", "/", "", asBrowser...).Want(t, 200, `<a href="inspect/overview">Inspector</a>`)
	b.Get("/inspect/web/live.js").Want(t, 200, "EventSource")
	if slash := b.Get("/inspect/?limit=1"); slash.Status != 308 || slash.Header.Get("Location") != "../inspect?limit=1" {
		t.Errorf("%d to %q", slash.Status, slash.Header.Get("Location"))
	}
	if filled := b.Do("GET", "/inspect?text=a+b&status=&thread=+&since=", "", asBrowser...); filled.Status != 303 || filled.Header.Get("Location") != "inspect?text=a+b" {
		t.Errorf("a form with empty fields: %d to %q", filled.Status, filled.Header.Get("Location"))
	}
	for _, path := range []string{"/inspect/web/nothing.js", "/inspect/nothing"} {
		b.Do("GET", path, "", asBrowser...).Want(t, 404)
	}
	if _, frames := b.Stream("GET", "/inspect/events", "", 1); frames[0].Event != "changed" {
		t.Errorf("%v", frames)
	}
}

// TestInspectorNeedsARight checks the inspector's modes, and the rights on the clients' listener.
func TestInspectorNeedsARight(t *testing.T) {
	t.Parallel()
	addr := rig.FreeAddress(t)
	const keys = `
auth: {keys: [{id: all, key: 0123456789abcdef0123456789abcdef}, {id: runs, key: 1123456789abcdef0123456789abcdef, rights: [run, read]},
  {id: looks, key: 2123456789abcdef0123456789abcdef, rights: [inspect, read]}, {id: other, key: 3123456789abcdef0123456789abcdef, tenant: acme}]}`
	r := rig.Configured(t, "admin: "+addr+keys+rig.OneAgent, rig.Legacy())
	key := func(n string) string { return n + "123456789abcdef0123456789abcdef" }
	r.Do("POST", "/runs/wait", `{"assistant_id":"a","input":{"messages":[]}}`, "X-Api-Key", key("0")).OK()
	for n, want := range map[string]int{"": 401, key("1"): 403, key("2"): 200, key("0"): 200} {
		r.Do("GET", "/inspect", "", "X-Api-Key", n).Want(t, want)
	}
	r.Do("GET", "/inspect", "", append(asBrowser, "X-Api-Key", key("2"))...).Want(t, 200, ">Key</th>", `class="key"><bdi>all</bdi>`)
	if got := r.Do("GET", "/inspect", "", "X-Api-Key", key("3")).OK(); len(got.List("runs")) != 0 {
		t.Errorf("another tenant sees %s", got)
	}
	if got := rig.Status(t, "http://"+addr+"/inspect"); got != http.StatusOK {
		t.Errorf("the admin listener: %d", got)
	}
	asked := r.Do("GET", "/inspect", "")
	if got := asked.Header.Values("Www-Authenticate"); len(got) != 1 || !strings.HasPrefix(got[0], "Basic ") {
		t.Errorf("a browser gets the challenge %v", got)
	}
	basic := []string{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("x:"+key("2")))}
	if got := r.Do("GET", "/inspect", "", basic...); got.Status != 200 || got.Header.Get("Www-Authenticate") != "" {
		t.Errorf("the page with a browser's key: %d", got.Status)
	}
	if got := r.Do("GET", "/info", "", basic...); got.Status != 401 || got.Header.Get("Www-Authenticate") != "Bearer" {
		t.Errorf("another route with a browser's key: %d", got.Status)
	}
	form := []string{"Content-Type", "application/x-www-form-urlencoded"}
	r.Do("POST", "/inspect/agents/a/try", "text=x", append(form, "X-Api-Key", key("2"))...).Want(t, 403, "run agents")
	for mode, want := range map[string][2]int{"admin": {404, 200}, "off": {404, 404}, "{mode: auto}": {200, 200}} {
		addr := rig.FreeAddress(t)
		r := rig.Configured(t, "admin: "+addr+"\ninspector: "+mode+rig.OneAgent, rig.Legacy())
		if got := [2]int{rig.Status(t, r.URL+"/inspect"), rig.Status(t, "http://"+addr+"/inspect")}; got != want {
			t.Errorf("%s: %v, want %v", mode, got, want)
		}
	}
}

// TestInspectorFindsRuns checks each filter alone, and that pages follow each other without a gap, even if the last
// run of one was deleted.
func TestInspectorFindsRuns(t *testing.T) {
	t.Parallel()
	r := rig.Configured(t, "agents: {a: {url: $A, dialect: taskstep}, b: {url: $A, dialect: taskstep}}\ndefault_agent: a", rig.Legacy())
	made := func(agent, text, more string) (run, thread string) {
		r.Do("POST", "/runs/wait", `{"assistant_id":"`+agent+`","input":{"messages":[{"role":"user","content":"`+text+`"}]}`+more+`}`).OK()
		newest := r.Get("/inspect?limit=1").OK()
		return newest.Text("runs.0.run_id"), newest.Text("runs.0.thread_id")
	}
	first, _ := made("a", "Gr\\u00fcn \\\"ivy\\\"", `,"metadata":{"user":"ann"}`)
	second, thread := made("b", "blue", "")
	third, _ := made("a", "red", "")
	at := url.QueryEscape(r.Get("/inspect").OK().Text("runs.1.created_at"))
	for query, want := range map[string][]string{
		"": {third, second, first}, "agent=b": {second}, "status=success": {third, second, first}, "status=error": nil,
		"thread=" + thread: {second}, "text=BLUE": {second}, "text=" + url.QueryEscape(`grün "IVY"`): {first}, "text=" + second: {second},
		"metadata=" + url.QueryEscape(`{"user":"ann"}`): {first}, "key=nobody": nil, "agent=a&text=red": {third},
		"since=" + at: {third, second}, "until=" + at: {second, first}, "until=2020-01-02T03:04": nil, "limit=2": {third, second},
	} {
		got := r.Get("/inspect?" + query)
		if want == nil && got.Status == 404 {
			continue
		}
		if found := rig.Pluck(got.OK().List("runs"), "run_id"); !slices.EqualFunc(found, want, func(a any, b string) bool { return a == b }) {
			t.Errorf("%s: %v, want %v", query, found, want)
		}
	}
	for _, query := range []string{"metadata=x", "metadata=[]", "since=soon", "before=x", "status=nonsense", "agnet=a"} {
		if got := r.Do("GET", "/inspect?"+query, "", asBrowser...); got.Status/100 != 4 || !rig.Says(string(got.Body), "This cannot be shown") {
			t.Errorf("%s: %d %s", query, got.Status, got)
		}
	}
	r.Do("GET", "/inspect?agent=gone", "", asBrowser...).Want(t, 200, `<option value="gone" selected>`)
	next := r.Get("/inspect?limit=2").OK().Text("next")
	r.Do("DELETE", "/threads/"+thread, "").Want(t, 204)
	made("a", "green", "")
	if got := r.Get("/inspect?limit=2&before=" + next).OK(); got.Text("runs.0.run_id") != first || got.At("next") != nil {
		t.Errorf("after a deleted run: %s", got)
	}
}

// TestInspectorShowsWhyRunsWait checks the question of a waiting run, the reason of a failed one, and the sum of the
// tokens reported in a run's messages.
func TestInspectorShowsWhyRunsWait(t *testing.T) {
	t.Parallel()
	r := rig.Configured(t, "agents: {a: {url: $A, dialect: taskstep, approval: step}}", rig.Legacy())
	r.Wait(`{"messages":[{"role":"user","content":"<script>alert(1)</script>\u202e"}]}`).OK()
	got := r.Get("/inspect").OK()
	if got.Text("runs.0.reason") != "question" || !rig.Says(got.Text("runs.0.why"), "I was asked: ") {
		t.Errorf("%s", got)
	}
	if got.Text("waiting.0.run_id") != got.Text("runs.0.run_id") || r.Get("/inspect/overview").OK().At("waiting") != 1.0 {
		t.Errorf("the open question of a stateless run is not above the list, or not counted: %s", got)
	}
	thread := r.Thread()
	r.On(thread, `{"assistant_id":"a",`+rig.SaysHi+`}`).OK()
	got = r.Get("/inspect").OK()
	if got.Text("waiting.0.run_id") != got.Text("runs.0.run_id") || !rig.Says(got.Text("waiting.0.question"), "I was asked: ") {
		t.Errorf("the open question is not above the list: %s", got)
	}
	if n := r.Get("/inspect/overview").OK().At("waiting"); n != 2.0 {
		t.Errorf("the overview counts %v open questions", n)
	}
	r.Do("GET", "/inspect/overview", "", asBrowser...).Want(t, 200, `<a href="../inspect#waiting">Waiting for an answer</a>`)
	for query, want := range map[string]int{"agent=a": 2, "agent=b": 0, "key=nobody": 0, "status=interrupted": 2, "status=error": 0, "text=alert": 0} {
		if got := r.Get("/inspect?" + query).OK().List("waiting"); len(got) != want {
			t.Errorf("%s: %d questions, want %d", query, len(got), want)
		}
	}
	page := string(r.Do("GET", "/inspect?text="+url.QueryEscape("<script>alert(1)"), "", asBrowser...).OK().Body)
	if !rig.Says(page, "I was asked: ", "&lt;script&gt;alert(1)") || strings.Contains(page, "<script>a") {
		t.Errorf("%s", page)
	}
}

// TestInspectorStreamsChanges checks that the list's stream reports an added run, that a reader that reconnects gets no
// known changes, and that the stream ends with the bridge.
func TestInspectorStreamsChanges(t *testing.T) {
	t.Parallel()
	r := rig.Configured(t, rig.OneAgent, rig.Legacy())
	_, first := r.Stream("GET", "/inspect/events", "", 1)
	mark := first[0].ID
	told := make(chan []rig.Frame, 1)
	go func() {
		_, frames, _ := r.TryStream("GET", "/inspect/events", "", 1, "Last-Event-ID", mark)
		told <- frames
	}()
	r.Wait(`{"messages":[{"role":"user","content":"hi"}]}`).OK()
	if frames := <-told; len(frames) != 1 || frames[0].Event != "changed" || frames[0].ID == mark {
		t.Errorf("%v after the mark %s", frames, mark)
	}
}

// TestInspectorShowsAgents checks each agent's dialect, health and unsupported fields. A message to an agent starts a
// run, but not from another site's form.
func TestInspectorShowsAgents(t *testing.T) {
	t.Parallel()
	r := rig.Configured(t, "agents: {a: {url: $A, dialect: taskstep}, gone: {url: 'http://127.0.0.1:1', dialect: taskstep}}\ndefault_agent: a", rig.Legacy())
	got := r.Get("/inspect/agents").OK()
	if got.Text("agents.0.name") != "a" || got.Text("agents.0.state") != "answers" || got.Text("agents.0.dialect") != "taskstep" ||
		got.At("agents.0.default") != true || len(got.List("agents.0.lost")) == 0 || got.Text("agents.1.state") != "does not answer" {
		t.Errorf("%s", got)
	}
	r.Do("GET", "/inspect/agents", "", asBrowser...).Want(t, 200, "A task/step agent", "dropped", `action="../inspect/agents/a/try"`)
	form := func(headers ...string) rig.Answer {
		return r.Do("POST", "/inspect/agents/a/try", "text=hello", append(headers, "Content-Type", "application/x-www-form-urlencoded")...)
	}
	for _, foreign := range [][]string{{"Sec-Fetch-Site", "same-site"}, {"Sec-Fetch-Site", "none"}, {"Origin", "null"}, {"Sec-Fetch-Site", "same-site", "Origin", r.URL}} {
		if got := form(foreign...); got.Status != 403 {
			t.Errorf("%v: %d %s", foreign, got.Status, got)
		}
	}
	for n := range 201 { // which precede it in the order
		r.Post("/assistants", fmt.Sprintf(`{"graph_id":"a","name":"A%d"}`, n)).OK()
	}
	if names := rig.Pluck(r.Get("/inspect/agents").OK().List("agents"), "name"); len(names) != 2 {
		t.Errorf("with many assistants: %v", names)
	}
	r.Do("POST", "/inspect/agents/a/try", "text=", "Content-Type", "application/x-www-form-urlencoded").Want(t, 422)
	r.Do("POST", "/inspect/agents/nobody/try", "text=x", "Content-Type", "application/x-www-form-urlencoded").Want(t, 404)
	if runs := r.Get("/inspect").OK().List("runs"); len(runs) != 0 {
		t.Fatalf("refused forms created the runs %v", runs)
	}
}

// TestInspectorShowsCallStatistics checks that keys with the right to metrics see how many calls failed and how
// long they took. The statistics include calls for other callers. Calls that find out what an agent speaks do not fail.
func TestInspectorShowsCallStatistics(t *testing.T) {
	t.Parallel()
	b := rig.Configured(t, `
agents: {a: {url: $A}, fails: {url: $B, dialect: taskstep}}
default_agent: a
auth: {keys: [{id: all, key: 0123456789abcdef0123456789abcdef}, {id: looks, key: 3123456789abcdef0123456789abcdef, rights: [inspect, read]}]}`,
		map[string]http.Handler{"a": rig.Legacy()["a"], "b": hostile()})
	for _, agent := range []string{"a", "fails"} {
		b.Do("POST", "/runs/wait", `{"assistant_id":"`+agent+`","input":"hi"}`, ann...)
	}
	all := b.Do("GET", "/inspect/agents", "", ann...).OK()
	var failed [2]float64
	for n := range failed {
		at := fmt.Sprintf("agents.%d.calls.", n)
		calls, _ := all.At(at + "calls").(float64)
		failed[n], _ = all.At(at + "failed").(float64)
		if calls == 0 || all.Text(at+"median") == "" || all.Text(at+"slow") == "" {
			t.Errorf("%d: %s", n, all)
		}
	}
	if failed[0] != 0 || failed[1] == 0 {
		t.Errorf("%v calls failed", failed)
	}
	b.Do("GET", "/inspect/agents", "", append(ann, asBrowser...)...).Want(t, 200, " failed, median ", "Checked <time", "The bridge keeps its state.")
	if some := b.Do("GET", "/inspect/agents", "", looks...).OK(); some.At("agents.0.calls") != nil || some.Text("agents.0.state") != "answers" {
		t.Errorf("without the right: %s", some)
	}
}

// TestInspectorSendsAMessageOnce checks that the confirmation page shows the message and the agent without calling it,
// and that its button starts one run, however often and concurrently it is pressed, and leads to it.
func TestInspectorSendsAMessageOnce(t *testing.T) {
	t.Parallel()
	b := rig.Configured(t, rig.OneAgent, rig.Legacy())
	const path = "/inspect/agents/a/try"
	in := url.Values{"text": {"hello <you>"}}
	submit(t, b, path, in).Want(t, 200, "Send this message?", "hello &lt;you&gt;", "The agent &#34;a&#34;")
	form := confirmation(t, b, path, in)
	if runs := b.Get("/inspect").OK().List("runs"); len(runs) != 0 {
		t.Fatalf("before the confirmation there are the runs %v", runs)
	}
	places := make(chan string, 4)
	for range cap(places) {
		go func() {
			head := append([]string{"Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin"}, asBrowser...)
			a, _ := b.Try(context.Background(), "POST", path, form.Encode(), head...)
			places <- a.Header.Get("Location")
		}()
	}
	for range cap(places) {
		<-places // of concurrent ones, some may be told that the first is in progress
	}
	to := submit(t, b, path, form).Want(t, 303).Header.Get("Location")
	runs := b.Get("/inspect").OK().List("runs")
	if len(runs) != 1 || to != "../../../inspect/runs/"+fmt.Sprint(rig.Dig(runs[0], "run_id")) {
		t.Errorf("%d runs, and the page leads to %q", len(runs), to)
	}
}

// TestOverviewIsOfTheRunsThatTheKeySees checks the numbers of each key, the page, and the stream of its changes.
func TestOverviewIsOfTheRunsThatTheKeySees(t *testing.T) {
	t.Parallel()
	const at = "/inspect/overview"
	r := rig.Configured(t, `
auth: {keys: [{id: all, key: 0123456789abcdef0123456789abcdef}, {id: own, key: 1123456789abcdef0123456789abcdef, scope: own},
  {id: one, key: 2123456789abcdef0123456789abcdef, agents: [b]}, {id: other, key: 3123456789abcdef0123456789abcdef, tenant: acme}]}
agents: {a: {url: $A}, b: {url: $A}}
default_agent: a
`, rig.Legacy())
	key := func(n string) []string { return []string{"X-Api-Key", n + "123456789abcdef0123456789abcdef"} }
	for _, agent := range []string{"a", "a", "b"} {
		r.Do("POST", "/runs/wait", `{"assistant_id":"`+agent+`","input":{"messages":[]}}`, key("0")...).OK()
	}
	r.Do("POST", "/runs/wait", `{"input":{"messages":[]}}`, key("1")...).OK()
	for n, want := range map[string]float64{"0": 4, "1": 1, "2": 1, "3": 0} {
		got := r.Do("GET", at, "", key(n)...).OK()
		if got.At("last_hour.runs") != want || got.At("last_day.runs") != want || got.At("last_hour.failed") != 0.0 {
			t.Errorf("key %s: %v of %v runs", n, got.At("last_hour.runs"), want)
		}
	}
	all := r.Do("GET", at, "", key("0")...).OK()
	if names := rig.Pluck(all.List("agents"), "name"); fmt.Sprint(names) != "[a b]" || all.At("agents.0.runs") != 3.0 || all.Text("agents.0.state") != "answers" {
		t.Errorf("%s", all)
	}
	if one := r.Do("GET", at, "", key("2")...).OK(); len(one.List("agents")) != 1 {
		t.Errorf("%s", one)
	}
	r.Do("GET", at, "", append(key("0"), asBrowser...)...).Want(t, 200, "<h1>Overview</h1>", "stateless runs are kept for 1 h (retention.stateless)", "4 runs ended", `href="../inspect?agent=a"`, "<svg")
	r.Do("GET", at, "", append(key("3"), asBrowser...)...).Want(t, 200, "No run has ended in the last day.")
	r.Do("GET", "/inspect", "", append(key("3"), asBrowser...)...).Want(t, 200, "There are no runs yet.", `href="inspect/agents"`)
	r.Do("GET", "/inspect?agent=a", "", append(key("3"), asBrowser...)...).Want(t, 200, "No run matches.")
	if _, frames := r.Stream("GET", at+"/events", "", 1, key("0")...); frames[0].Event != "changed" {
		t.Errorf("%v", frames)
	}
}
