package inspect

import (
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// TestRunsAreListedByTheirRequest checks the request in the list, and the request and the answer at the top of the
// run's page.
func TestRunsAreListedByTheirRequest(t *testing.T) {
	t.Parallel()
	b := rig.Configured(t, rig.OneAgent, rig.Legacy())
	b.Wait("Plan a\n garden").OK()
	list := b.Get("/inspect").OK()
	if got := list.Text("runs.0.request"); got != "Plan a garden" {
		t.Errorf("the list shows %q", got)
	}
	at := "/inspect/runs/" + list.Text("runs.0.run_id")
	run := b.Get(at).OK()
	if run.Text("request.text") != "Plan a\n garden" || !strings.HasPrefix(run.Text("answer.text"), "Done: Plan a") {
		t.Errorf("the page shows %s", run)
	}
	inOrder(t, string(b.Do("GET", at, "", asBrowser...).OK().Body), "Plan a garden</bdi></h1>", "Succeeded after 3 steps in ", "; the agent took ", "Conversation</h2>", "Plan a\n garden", "Done: Plan a",
		"Where the time went</h2>", "waiting", "step 1", "step 3", "What happened")
	inOrder(t, string(b.Do("GET", "/inspect", "", asBrowser...).OK().Body), ">Request</th>", ">Status</th>", ">Plan a garden</bdi>")
}

// TestQuestionFormOffersTextFirst checks that the form for a question has a text field, and that JSON is optional.
func TestQuestionFormOffersTextFirst(t *testing.T) {
	t.Parallel()
	b := rig.Configured(t, rig.OneAgent, rig.Legacy())
	thread := b.Thread()
	b.On(thread, `{"assistant_id":"a","input":{"messages":[{"role":"user","content":"ask me"}]}}`)
	at := "/inspect" + thread
	inOrder(t, string(b.Do("GET", at, "", asBrowser...).OK().Body), "What shall the file say?", `name="words"`, "Answer with JSON instead", `name="args-0"`, `name="json"`)
	run := b.Get("/inspect").OK().Text("runs.0.run_id")
	page := string(b.Do("GET", "/inspect/runs/"+run, "", asBrowser...).OK().Body)
	inOrder(t, page, "Asked a question after 1 step in ", "ask me", "What shall the file say?", `class="answer"`)
	if shown, _, _ := strings.Cut(page, "What happened"); strings.Contains(shown, "action_requests&#34;") || strings.Count(shown, "What shall the file say?") != 2 {
		t.Errorf("the page of an interrupted run shows JSON, or does not show the question once with the arguments of its call: %s", page)
	}
}

// TestReasonsInTheListOmitTheAgent checks that reasons do not begin with the agent, which has its own column.
func TestReasonsInTheListOmitTheAgent(t *testing.T) {
	t.Parallel()
	b := rig.Configured(t, "agents: {a: {url: 'http://127.0.0.1:1', dialect: taskstep}}", nil)
	b.Wait("hi")
	if why := b.Get("/inspect").OK().Text("runs.0.why"); !strings.HasPrefix(why, "Cannot be reached: nothing is listening there") {
		t.Errorf("the reason is %q", why)
	}
}

// inOrder checks that the texts are on a page in this order.
func inOrder(t *testing.T, page string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		_, rest, ok := strings.Cut(page, text)
		if !ok {
			t.Errorf("%q is missing or out of order", text)
			return
		}
		page = rest
	}
}
