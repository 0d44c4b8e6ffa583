package inspect

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/examples/legacyagent"
)

// TestInspectorComparesRuns repeats a run with another agent, and compares the two from the page of the second one.
func TestInspectorComparesRuns(t *testing.T) {
	t.Parallel()
	short := &adaptertest.StepAgent{Kind: adaptertest.AutoGPT, Script: []adaptertest.ScriptStep{{Output: `"There is nothing to do."`, Last: true}}}
	b := rig.Configured(t, "inspector: {capture: all}\ndefault_agent: a\nagents: {a: {url: $A, dialect: taskstep}, b: {url: $B, dialect: taskstep}}", map[string]http.Handler{"a": legacyagent.Handler(), "b": short})
	b.Wait("Plan a garden").OK()
	first := newestRun(b)
	settled(t, b, submitConfirmed(t, b, "/inspect/runs/"+first+"/again", url.Values{"agent": {"b"}}))
	second := newestRun(b)
	page := b.Get("/inspect/runs/" + second).OK()
	if page.Text("repeats") != first || page.Text("compare_with.0.run_id") != first || page.Text("compare_with.0.reason") != "is repeated by this run" {
		t.Errorf("%v, %v", page.At("repeats"), page.At("compare_with"))
	}
	if back := b.Get("/inspect/runs/" + first).OK(); back.Text("compare_with.0.run_id") != second || back.Text("compare_with.0.reason") != "repeats this run" || back.At("repeats") != nil {
		t.Errorf("%v", back.At("compare_with"))
	}
	link := "inspect/compare?a=" + first + "&amp;b=" + second
	show(t, b, "/inspect/runs/"+second).Want(t, 200, `href="../../`+link+`">Compare with the run that it repeats`)
	at := "/inspect/compare?a=" + first + "&b=" + second
	v := b.Get(at).OK()
	steps, more := v.At("a.steps").(float64), v.At("b.steps").(float64)
	if v.Text("inputs") != "same" || v.Text("a.agent") != "a" || v.Text("b.agent") != "b" || steps == more || !strings.HasPrefix(v.Text("summary"), "Both succeeded with different answers. b was ") {
		t.Errorf("%s", v)
	}
	if v.Text("turns.0.kind") != "same" || v.Text("turns.0.a.role") != "person" || v.Text("turns.1.kind") != "only_a" || v.Text("turns.3.kind") != "differs" || v.Text("turns.3.notes.0") != "a different text" {
		t.Errorf("%v", v.At("turns"))
	}
	kinds := map[string]int{}
	for _, p := range v.List("bars") {
		kinds[fmt.Sprint(rig.Dig(p, "a.kind"), rig.Dig(p, "b.kind"))]++
	}
	if kinds["stepstep"] != int(min(steps, more)) || kinds["callcall"] == 0 || v.At("seconds").(float64) < v.At("b.timing.seconds").(float64) {
		t.Errorf("%v %v", kinds, v.At("bars"))
	}
	show(t, b, at).Want(t, 200, "Both succeeded", "a different text", `<bdi>Done: Plan a garden</bdi>`, `<bdi>There is nothing to do.</bdi>`, "the same in both", "only in ", `<bdi>Plan a garden</bdi>`, `/log/`, `/calls/`)
	same := b.Get("/inspect/compare?a=" + first + "&b=%20" + first).OK()
	if same.At("same_run") != true || same.Text("turns_summary") != "All messages are the same." {
		t.Errorf("%s", same)
	}
	show(t, b, "/inspect/compare?a="+first+"&b="+first).Want(t, 200, "This is one run, compared with itself.")
	b.Wait("Plan a pond").OK()
	other := "/inspect/compare?a=" + first + "&b=" + newestRun(b)
	if v := b.Get(other).OK(); v.Text("inputs") != "different" || v.Text("turns.0.kind") != "differs" {
		t.Errorf("%s", v)
	}
	show(t, b, other).Want(t, 200, "The runs got different inputs.", "<mark>garden</mark>", "<mark>pond</mark>")
}

// TestInspectorComparesOnlyVisibleRuns checks that a run that is unknown or of another tenant is not found, and named.
func TestInspectorComparesOnlyVisibleRuns(t *testing.T) {
	t.Parallel()
	b := rig.Configured(t, `
auth: {keys: [{id: mine, key: 0123456789abcdef0123456789abcdef, tenant: one}, {id: other, key: 1123456789abcdef0123456789abcdef, tenant: two}]}`+rig.OneAgent, rig.Legacy())
	mine, other := []string{"X-Api-Key", "0123456789abcdef0123456789abcdef"}, []string{"X-Api-Key", "1123456789abcdef0123456789abcdef"}
	var ids []string
	for _, key := range [][]string{mine, other} {
		b.Do("POST", "/runs/wait", `{"assistant_id":"a","input":"hi"}`, key...).OK()
		ids = append(ids, b.Do("GET", "/inspect", "", key...).OK().Text("runs.0.run_id"))
	}
	compare := func(a, b string) string { return "/inspect/compare?a=" + a + "&b=" + b }
	b.Do("GET", compare(ids[0], ids[0]), "", mine...).OK()
	b.Do("GET", compare(ids[0], ids[1]), "", mine...).Want(t, 404, "Run b was not found", "run_not_found")
	b.Do("GET", compare(ids[0], ids[1]), "", other...).Want(t, 404, "Run a was not found")
	b.Do("GET", compare("nothing", ids[1]), "", other...).Want(t, 404, `Run a was not found. There is no run \"nothing\".`)
	b.Do("GET", compare(ids[0], "%3Cb%3E"), "", append(mine, asBrowser...)...).Want(t, 404, "Run b was not found. There is no run &#34;&lt;b&gt;&#34;.")
	b.Do("GET", "/inspect/compare?a="+ids[0], "", mine...).Want(t, 422, "The parameter b is missing")
	if v := b.Do("GET", "/inspect/runs/"+ids[0], "", mine...).OK(); v.At("compare_with") != nil {
		t.Errorf("a run of another tenant is offered: %s", v)
	}
}

// TestInspectorComparesAnActiveRun compares a run that waits with a failed one.
func TestInspectorComparesAnActiveRun(t *testing.T) {
	t.Parallel()
	gate := rig.NewGate(legacyagent.Handler(), rig.StepPosts, 1)
	b := rig.Configured(t, "agents: {fails: {url: $A, dialect: taskstep}, works: {url: $B, dialect: taskstep}}", map[string]http.Handler{"a": hostile(), "b": gate})
	b.On(b.Thread(), `{"assistant_id":"fails","input":"hi"}`)
	failed := newestRun(b)
	b.Post(b.Thread()+"/runs", `{"assistant_id":"works","input":"hi"}`).OK()
	gate.Await(t)
	defer gate.Open()
	at := "/inspect/compare?a=" + failed + "&b=" + newestRun(b)
	if v := b.Get(at).OK(); v.Text("summary") != "a failed and b is working." || v.At("no_calls") != nil || v.At("b.steps") != nil {
		t.Errorf("%s", v)
	}
	page := show(t, b, at).Want(t, 200, "Run b is still active", "only in a").String()
	if strings.Contains(page, "<script>alert") || strings.ContainsAny(page, "\u202e\x1b") {
		t.Errorf("the agent's text is not inert: %s", page)
	}
}
