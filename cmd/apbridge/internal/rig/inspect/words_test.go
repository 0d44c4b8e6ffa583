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
		"Where the time went</h2>", "waiting", "step 1", "step 3", "Log</h2>")
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
	inOrder(t, page, "Asked a question after 1 step in ", "ask me", "What shall the file say?", `name="words"`, "Answer with JSON instead", "Log</h2>")
	if shown, _, _ := strings.Cut(page, "Log</h2>"); strings.Contains(shown, "action_requests&#34;") || strings.Count(shown, `<p class="said" dir="auto">What shall the file say?`) != 1 {
		t.Errorf("the page of an interrupted run shows JSON, or does not show the question once: %s", page)
	}
}

// TestRunPageAnswersItsQuestion checks that the form on the page of a run leads to the run that continues, and that the
// page has no form after that.
func TestRunPageAnswersItsQuestion(t *testing.T) {
	t.Parallel()
	b := rig.Configured(t, rig.OneAgent, rig.Legacy())
	thread := b.Thread()
	b.On(thread, `{"assistant_id":"a","input":{"messages":[{"role":"user","content":"ask me"}]}}`)
	at := "/inspect/runs/" + newestRun(b)
	in := url.Values{"words": {"blue"}}
	for _, m := range hidden.FindAllStringSubmatch(show(t, b, at).String(), -1) {
		in.Set(m[1], m[2])
	}
	path := "/inspect" + thread + "/answer"
	sure := confirmation(t, b, path, in)
	if back := submit(t, b, path, in).String(); !strings.Contains(back, `href="../../..`+at+`">Back`) {
		t.Errorf("the confirmation does not lead back to the run: %s", back)
	}
	for range 2 { // the second is a second click
		to := submit(t, b, path, sure).Want(t, 303).Header.Get("Location")
		if next := newestRun(b); "/inspect/runs/"+next == at || to != "../../../inspect/runs/"+next {
			t.Errorf("the answer redirects to %q", to)
		}
	}
	settled(t, b, strings.TrimPrefix(thread, "/threads/"))
	if page := show(t, b, at).String(); strings.Contains(page, `name="words"`) {
		t.Errorf("the form is still there: %s", page)
	}
}

// TestAnsweredRunShowsItsAnswer checks that a run whose question was answered shows the question, the answer and the run
// that gave it, and that this run leads back.
func TestAnsweredRunShowsItsAnswer(t *testing.T) {
	t.Parallel()
	asks := func(agent http.Handler, dialect string) *rig.Bridge {
		return rig.Configured(t, "agents: {a: {url: $A, dialect: "+dialect+"}}", map[string]http.Handler{"a": agent})
	}
	for kind, c := range map[string]struct {
		b                  *rig.Bridge
		resume, text, said string
	}{
		"taskstep":  {asks(legacyagent.Handler(), "taskstep"), `"blue"`, "What shall the file say?", "blue"},
		"threadrun": {asks(rig.Asking(adaptertest.ChatPlay()), "threadrun"), `{"decisions":[{"type":"approve"}]}`, "Send this mail?", "yes"},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			thread := c.b.Thread()
			c.b.On(thread, `{"assistant_id":"a","input":{"messages":[{"role":"user","content":"ask me"}]}}`)
			asked := newestRun(c.b)
			c.b.On(thread, `{"assistant_id":"a","command":{"resume":`+c.resume+`}}`)
			answered := newestRun(c.b)
			at := "/inspect/runs/"
			v := c.b.Get(at + asked).OK()
			turns := v.List("story.turns")
			question, answer := turns[len(turns)-2], turns[len(turns)-1]
			if v.At("continued_by") != answered || !strings.Contains(fmt.Sprint(rig.Dig(question, "text.text")), c.text) || rig.Dig(question, "asks") != true ||
				rig.Dig(answer, "text.text") != c.said || rig.Dig(answer, "run_id") != answered {
				t.Errorf("%s", v)
			}
			if said := v.Text("story.summary"); !strings.HasPrefix(said, "Asked a question ") || !strings.HasSuffix(said, " It was answered, and another run continued.") {
				t.Errorf("%s", said)
			}
			show(t, c.b, at+asked).Want(t, 200, "interrupted, answered<", `runs/`+answered+`">run that continued</a>`)
			show(t, c.b, at+answered).Want(t, 200, `runs/`+asked+`">run that asked</a>`)
			if why := c.b.Get(thread + "/runs/" + asked + "/explain").OK(); !strings.Contains(why.Text("message"), "no longer open") {
				t.Errorf("%s", why)
			}
		})
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

// TestQuestionsWithTheSameIDAreDistinct checks that a run whose question was answered does not look as if it waits when the
// run that continued asks with the same id.
func TestQuestionsWithTheSameIDAreDistinct(t *testing.T) {
	t.Parallel()
	b := rig.Configured(t, "agents: {a: {url: $A, dialect: threadrun}}", map[string]http.Handler{"a": rig.Asking(adaptertest.AskPlay(), adaptertest.ChatPlay())})
	thread, runs := b.Thread(), []string{}
	for _, in := range []string{`"input":{"messages":[{"role":"user","content":"hi"}]}`, `"command":{"resume":{"decisions":[{"type":"reject","message":"later"}]}}`} {
		b.On(thread, `{"assistant_id":"a",`+in+`}`)
		runs = append(runs, newestRun(b))
	}
	check := func(run, by string, open bool) {
		t.Helper()
		v := b.Get("/inspect/runs/" + run).OK()
		if got, _ := v.At("continued_by").(string); got != by || (v.At("questions") != nil) != open {
			t.Errorf("%s", v)
		}
	}
	check(runs[0], runs[1], false)
	check(runs[1], "", true)
	b.On(thread, `{"assistant_id":"a","command":{"resume":{"decisions":[{"type":"approve"}]}}}`)
	check(runs[0], runs[1], false)
	check(runs[1], newestRun(b), false)
}
