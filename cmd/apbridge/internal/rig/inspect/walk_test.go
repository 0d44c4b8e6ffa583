package inspect

import (
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/examples/legacyagent"
)

// visitor starts at one page and follows every link, file and stream of the pages it finds.
type visitor struct {
	t     *testing.T
	root  string // of the bridge
	went  map[string]bool
	forms map[string]bool
}

var (
	leads     = regexp.MustCompile(`(?:href|src|data-live|data-thread)="([^"]*)"`)
	formsSent = regexp.MustCompile(`<form class="plain[^>]*method="post" action="([^"]*)"`)
)

// visit follows each link once. All targets must exist below the root.
func (w *visitor) visit(at string) {
	w.t.Helper()
	at, _, _ = strings.Cut(at, "#")
	if w.went[at] {
		return
	}
	w.went[at] = true
	text, kind := w.get(at)
	if !strings.HasPrefix(kind, "text/html") {
		return
	}
	here, err := url.Parse(at)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, m := range formsSent.FindAllStringSubmatch(text, -1) {
		w.forms[here.ResolveReference(w.parsed(m[1])).String()] = true
	}
	for _, m := range leads.FindAllStringSubmatch(text, -1) {
		to := here.ResolveReference(w.parsed(m[1])).String()
		if strings.HasPrefix(to, "data:") {
			continue // the icon, which is embedded in the page
		}
		if !strings.HasPrefix(to, w.root+"/") {
			w.t.Errorf("%s links to %s outside of the root", at, to)
		} else {
			w.visit(to)
		}
	}
}

func (w *visitor) parsed(link string) *url.URL {
	w.t.Helper()
	u, err := url.Parse(html.UnescapeString(link))
	if err != nil {
		w.t.Fatal(err)
	}
	return u
}

// get returns the content and type of an address, but only the type of a stream.
func (w *visitor) get(at string) (text, kind string) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), "GET", at, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set(asBrowser[0], asBrowser[1])
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		w.t.Errorf("%s: %d", at, res.StatusCode)
	}
	if kind = res.Header.Get("Content-Type"); kind == "text/event-stream" {
		return "", kind
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Errorf("%s: %v", at, err)
	}
	if strings.HasPrefix(kind, "text/html") {
		checkPolicy(w.t, at, res.Header.Get("Content-Security-Policy"))
	}
	return string(body), kind
}

// checkPolicy checks that a page may only load from the bridge, and may not create markup from text.
func checkPolicy(t *testing.T, at, policy string) {
	t.Helper()
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "nonce") || strings.Contains(policy, "http") || !strings.Contains(policy, "default-src 'none'") {
		t.Errorf("%s: policy %q", at, policy)
	}
	if strings.Contains(policy, "script-src") && !rig.Says(policy, "script-src 'self'", "require-trusted-types-for 'script'", "trusted-types 'none'") {
		t.Errorf("%s: policy of scripts %q", at, policy)
	}
}

// TestInspectorHasNoBrokenLinks checks that every link, file, stream and form of every page exists: on the clients'
// listener, below a proxy's path and on the admin listener, for runs that ended, failed, ask and are active.
func TestInspectorHasNoBrokenLinks(t *testing.T) {
	t.Parallel()
	addr := rig.FreeAddress(t)
	gate := rig.NewGate(legacyagent.Handler(), rig.StepPosts, 1)
	b := rig.Configured(t, "admin: "+addr+`
inspector: {capture: all}
agents: {a: {url: $A, dialect: taskstep}, asks: {url: $B, dialect: threadrun}, fails: {url: $C, dialect: taskstep}, works: {url: $D, dialect: taskstep}}
default_agent: a`, map[string]http.Handler{"a": adaptertest.NewStepAgent(adaptertest.Plain), "b": rig.Asking(), "c": hostile(), "d": gate})
	for _, agent := range []string{"a", "asks", "fails"} {
		b.On(b.Thread(), `{"assistant_id":"`+agent+`","input":{"messages":[{"role":"user","content":"hi"}]}}`)
	}
	b.Post(b.Thread()+"/runs", `{"assistant_id":"works","input":"hi"}`).OK()
	gate.Await(t)
	to, err := url.Parse(b.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(http.StripPrefix("/sub/path", httputil.NewSingleHostReverseProxy(to)))
	defer proxy.Close()
	for _, root := range []string{b.URL, proxy.URL + "/sub/path", "http://" + addr} {
		w := &visitor{t, root, map[string]bool{}, map[string]bool{}}
		w.visit(root + "/inspect")
		for at := range w.forms {
			b.URL = root
			if got := submit(t, b, strings.TrimPrefix(at, root), url.Values{"checkpoint": {"x"}}); got.Status == 405 || rig.Says(got.String(), "route_not_found") {
				t.Errorf("%s accepts no form: %s", at, got)
			}
		}
		t.Logf("%s: %d addresses, %d forms", root, len(w.went), len(w.forms))
		for _, part := range []string{"/again", "/cancel", "/answer", "/fork", "/difference", "/compare?", "/checkpoints/", "/files/", "/calls/", "/log/", "/export/har", "/events", "/agents", ".js"} {
			if !strings.Contains(strings.Join(append(keys(w.went), keys(w.forms)...), "\n"), part) {
				t.Errorf("%s: no page links to %s", root, part)
			}
		}
	}
	gate.Open()
}

func keys(m map[string]bool) (list []string) {
	for k := range m {
		list = append(list, k)
	}
	return list
}

// TestInspectorCancels cancels from the page of an active run, after a confirmation that leads back to the run.
func TestInspectorCancels(t *testing.T) {
	t.Parallel()
	gate := rig.NewGate(legacyagent.Handler(), rig.StepPosts, 1)
	b := rig.Configured(t, rig.OneAgent, map[string]http.Handler{"a": gate})
	b.Post(b.Thread()+"/runs", `{"assistant_id":"a","input":"hi"}`).OK()
	gate.Await(t)
	defer gate.Open()
	at := "/inspect/runs/" + newestRun(b)
	show(t, b, at).Want(t, 200, `action="../../`+at[1:]+`/cancel"`)
	form := confirmation(t, b, at+"/cancel", nil)
	if got := b.Get(at).OK().Text("status"); got != "running" {
		t.Errorf("before the confirmation: %s", got)
	}
	if to := submit(t, b, at+"/cancel", form).Want(t, 303).Header.Get("Location"); to != "../../.."+at {
		t.Errorf("redirected to %s", to)
	}
	rig.Eventually(t, "the run ends", func() bool { return !strings.Contains("pending running", b.Get(at).OK().Text("status")) })
	if page := show(t, b, at).String(); strings.Contains(page, `/cancel"`) {
		t.Error("a run that has ended can be cancelled")
	}
	submit(t, b, at+"/cancel", form).Want(t, 303) // the button was pressed twice
}

// TestRunPageCountsAnOpenCall checks that a call that has not ended counts as the agent's time, and that the page of the
// run learns that time has passed.
func TestRunPageCountsAnOpenCall(t *testing.T) {
	t.Parallel()
	gate := rig.NewGate(legacyagent.Handler(), rig.StepPosts, 1)
	b := rig.Configured(t, rig.OneAgent, map[string]http.Handler{"a": gate})
	b.Post(b.Thread()+"/runs", `{"assistant_id":"a","input":"hi"}`).OK()
	gate.Await(t)
	defer gate.Open()
	at := "/inspect/runs/" + newestRun(b)
	if why := b.Get(at).OK().Text("why"); strings.Contains(why, "0s") || strings.Contains(why, " ms") {
		t.Errorf("%s", why)
	}
	events := watch(t, b, at+"/events")
	for range 3 { // the first reports the state when the stream began
		if event := <-events; event != "changed" {
			t.Fatalf("event %q", event)
		}
	}
	v := b.Get(at).OK()
	if why := v.Text("why"); !regexp.MustCompile(`for step 1 in the last \d+\.\d s\.$`).MatchString(why) {
		t.Errorf("%s", why)
	}
	timing := v.At("timing").(map[string]any)
	if timing["agent_seconds"].(float64) < 1 || timing["bridge_seconds"].(float64) > timing["agent_seconds"].(float64) {
		t.Errorf("%v", timing)
	}
}

// TestRowsOfAQueuedRunAreInOrderOfTime checks that a run that waited begins, with its input, when it was started.
func TestRowsOfAQueuedRunAreInOrderOfTime(t *testing.T) {
	t.Parallel()
	gate := rig.NewGate(legacyagent.Handler(), rig.StepPosts, 1)
	b := rig.Configured(t, rig.OneAgent, map[string]http.Handler{"a": gate})
	thread := b.Thread()
	const body = `{"assistant_id":"a","input":"hi","multitask_strategy":"enqueue"}`
	b.Post(thread+"/runs", body).OK()
	gate.Await(t)
	b.Post(thread+"/runs", body).OK()
	at := "/inspect/runs/" + newestRun(b)
	rig.Eventually(t, "the second run has waited for 10 ms", func() bool {
		return b.Get(at).OK().At("timing.seconds").(float64) > 0.01
	})
	gate.Open()
	rig.Eventually(t, "the second run ends", func() bool { return b.Get(at).OK().Text("status") == "success" })
	last := 0.0
	for _, row := range b.Get(at).OK().List("rows") {
		since := rig.Dig(row, "since_seconds").(float64)
		if since < last || since < 0.01 {
			t.Errorf("%v after %v: %v", since, last, row)
		}
		last = since
	}
}

// TestInspectorSumsTokens sums the tokens of a whole run, whose messages report them in pieces and at the end.
func TestInspectorSumsTokens(t *testing.T) {
	t.Parallel()
	play := adaptertest.ChatPlay()
	for n, frame := range play.Frames {
		play.Frames[n] = strings.ReplaceAll(frame, `"type":"ai"`, `"usage_metadata":{"input_tokens":10,"output_tokens":2,"total_tokens":12},"type":"ai"`)
	}
	b := rig.InFront(t, &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{play}}, rig.AsThreads)
	b.Wait("hi").OK()
	at := "/inspect/runs/" + newestRun(b)
	for path, usage := range map[string]string{"/inspect": "runs.0.usage", at: "usage"} {
		if got := b.Get(path).OK(); got.At(usage+".input_tokens") != 30.0 || got.At(usage+".output_tokens") != 6.0 {
			t.Errorf("%s: %v", path, got.At(usage))
		}
	}
	show(t, b, "/inspect").Want(t, 200, `>30 in, 6 out</td>`)
	show(t, b, at).Want(t, 200, "30 tokens in, 6 out", "10 tokens in, 2 out", "<circle ")
	if got := b.Get("/inspect/overview").OK(); got.At("last_hour.usage.input_tokens") != 30.0 || got.At("last_day.usage.output_tokens") != 6.0 {
		t.Errorf("%s", got)
	}
}

// TestInspectorShowsTokensOnRequest checks that tokens are among the events only if the address requests them.
func TestInspectorShowsTokensOnRequest(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay()}}, rig.AsThreads)
	b.Do("POST", "/runs/stream", `{"assistant_id":"agent","input":{"messages":[]},"stream_mode":["messages-tuple","values"]}`).OK()
	at := "/inspect/runs/" + newestRun(b)
	for query, want := range map[string]bool{"": false, "?tokens=show": true} {
		v := b.Get(at + query).OK()
		if got := slices.Contains(rig.Pluck(v.List("rows"), "kind"), any("delta")); got != want || v.At("tokens") != want {
			t.Errorf("%q: tokens %v, want %v: %s", query, got, want, v)
		}
	}
	show(t, b, at+"?tokens=show").Want(t, 200, `class="delta"`, "Hide token events")
}
