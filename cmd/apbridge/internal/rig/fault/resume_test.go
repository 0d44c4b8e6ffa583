package fault

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
)

// questioned is an agent whose first run stops with a question.
type questioned struct {
	peer    func() adaptertest.Peer
	dialect string
	answer  string // a resume value
	work    func(*http.Request) bool
	stops   int // requests for work until it asks
}

func questionable() map[string]questioned {
	return map[string]questioned{
		"step agent": {func() adaptertest.Peer { return rig.Curious(1) }, "taskstep", `"blue"`, rig.StepPosts, 2},
		"graph":      {func() adaptertest.Peer { return rig.Asking(adaptertest.ChatPlay()) }, "threadrun", `{"type":"accept"}`, rig.RunPosts, 1},
	}
}

// asked returns the number of requests for work that an agent received.
func asked(peer adaptertest.Peer) int {
	if a, ok := peer.(*adaptertest.ThreadAgent); ok {
		return a.Calls(rig.StartRoute)
	}
	return len(peer.(*adaptertest.StepAgent).Inputs())
}

// answers returns the number of answers that an agent received.
func answers(peer adaptertest.Peer) (n int) {
	if a, ok := peer.(*adaptertest.ThreadAgent); ok {
		for _, body := range a.Bodies(rig.StartRoute) {
			n += strings.Count(string(body), `"resume":`)
		}
		return n
	}
	return strings.Count(strings.Join(peer.(*adaptertest.StepAgent).Inputs(), "\n"), "blue")
}

// stopped returns a thread whose run has asked a question, and the id of the question.
func stopped(b *rig.Bridge) (at, run, question string) {
	b.T.Helper()
	at = b.Thread()
	run = b.Begin(at, "")
	b.Get(run + "/join").OK()
	b.Expect(at, "status", "interrupted")
	for _, list := range b.Get(at).OK().At("interrupts").(map[string]any) {
		question = rig.Dig(list, "0.id").(string)
	}
	return at, run, question
}

func resume(b *rig.Bridge, at, value string, more ...string) rig.Answer {
	b.T.Helper()
	return b.Post(at+"/runs/wait", `{"assistant_id":"agent",`+strings.Join(more, "")+`"command":{"resume":`+value+`}}`)
}

// TestAnswerToAnotherQuestion checks that an answer to another question is refused with the ids of the open questions,
// does not reach the agent, and leaves the question open.
func TestAnswerToAnotherQuestion(t *testing.T) {
	t.Parallel()
	for name, q := range questionable() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			peer := q.peer()
			b := rig.InFront(t, peer)
			at, _, question := stopped(b)
			before := asked(peer)
			wrong := resume(b, at, `{"`+rig.UnknownQuestion+`":`+q.answer+`}`).Is(http.StatusUnprocessableEntity)
			if !rig.Says(string(wrong.Body), rig.UnknownQuestion, question) {
				t.Errorf("refused with %s", wrong.Body)
			}
			resume(b, at, `{"`+question+`":`+q.answer+`,"`+rig.UnknownQuestion+`":1}`).Is(http.StatusUnprocessableEntity)
			b.Expect(at, "status", "interrupted")
			if n := asked(peer); n != before {
				t.Errorf("the agent was called %d times for it", n-before)
			}
			if done := resume(b, at, `{"`+question+`":`+q.answer+`}`).OK(); done.At("__error__") != nil {
				t.Errorf("the right answer: %s", done.Body)
			}
			b.Expect(at, "status", "idle")
		})
	}
}

// TestAnswerMustNameOneOfTwoQuestions checks that an answer must name its question if several are open.
func TestAnswerMustNameOneOfTwoQuestions(t *testing.T) {
	t.Parallel()
	agent := rig.Asking(adaptertest.ChatPlay())
	agent.Plays[0] = askingTwice()
	b := rig.InFront(t, agent)
	at, _, _ := stopped(b)
	refused := resume(b, at, `{"type":"accept"}`).Is(http.StatusUnprocessableEntity)
	if !rig.Says(string(refused.Body), firstQuestion, otherQuestion) {
		t.Errorf("refused with %s", refused.Body)
	}
	resume(b, at, `{"`+otherQuestion+`":{"type":"accept"}}`).OK()
	if bodies := agent.Bodies(rig.StartRoute); len(bodies) != 2 || !rig.Says(string(bodies[1]), otherQuestion) {
		t.Errorf("%d requests for runs, the last: %s", len(bodies), bodies[len(bodies)-1])
	}
}

const firstQuestion, otherQuestion = "74462228383d847ecfda1c079720e8fc", "84462228383d847ecfda1c079720e8fd"

// askingTwice returns a graph whose node asks two questions at once.
func askingTwice() adaptertest.ThreadPlay {
	play := adaptertest.AskPlay()
	twice := strings.NewReplacer(`[{"id":"`+firstQuestion+`",`, `[{"id":"`+otherQuestion+`","value":"Sure?"},{"id":"`+firstQuestion+`",`)
	for i, f := range play.Frames {
		play.Frames[i] = twice.Replace(f)
	}
	play.State = twice.Replace(play.State)
	return play
}

// TestSecondAnswerIsRefused checks that a second answer is refused while the first one is queued, is being processed,
// or is done, with every strategy.
func TestSecondAnswerIsRefused(t *testing.T) {
	t.Parallel()
	for name, q := range questionable() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			peer := q.peer()
			g := rig.NewGate(peer, q.work, 2*q.stops+1) // two questions, then the answer
			other := rig.NewGate(g, q.work, q.stops+1)
			b := rig.InFront(t, other, func(a *config.Agent) { a.Concurrency, a.Dialect = 1, q.dialect })
			at, _, question := stopped(b)
			elsewhere := b.Begin(b.Thread(), "")
			other.Await(t)
			again := func(when string) {
				t.Helper()
				for _, strategy := range []string{"reject", "enqueue"} {
					a := resume(b, at, q.answer, `"multitask_strategy":"`+strategy+`",`).Is(http.StatusConflict)
					if code := a.Text("code"); code != "no_pending_interrupt" && (strategy == "enqueue" || code != "thread_busy") {
						t.Errorf("%s, %s: %s", when, strategy, a.Body)
					}
				}
			}
			first := at + "/runs/" + b.Post(at+"/runs", `{"assistant_id":"agent","command":{"resume":{"`+question+`":`+q.answer+`}}}`).OK().Text("run_id")
			b.Expect(first, "status", "pending")
			again("while it waits")
			other.Open()
			b.Get(elsewhere + "/join").OK()
			g.Await(t)
			again("while it is worked on")
			g.Open()
			b.Get(first + "/join").OK()
			again("when it is done")
			b.Expect(first, "status", "success")
			if n := len(b.Get(at + "/runs").OK().List("")); n != 2 {
				t.Errorf("%d runs on the thread, want the question and the answer", n)
			}
		})
	}
}

// TestOneOfConcurrentAnswersCounts checks that exactly one of many concurrent answers counts, also if the others would
// be queued.
func TestOneOfConcurrentAnswersCounts(t *testing.T) {
	t.Parallel()
	for name, q := range questionable() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			peer := q.peer()
			b := rig.InFront(t, peer)
			for range 10 {
				at, _, _ := stopped(b)
				var all sync.WaitGroup
				var given atomic.Int32
				for range 6 {
					all.Go(func() {
						a := resume(b, at, q.answer, `"multitask_strategy":"enqueue",`)
						if a.Status == http.StatusOK {
							given.Add(1)
						} else if a.Status != http.StatusConflict || a.Text("code") != "no_pending_interrupt" {
							t.Errorf("response %d: %s", a.Status, a.Body)
						}
					})
				}
				all.Wait()
				if n := len(b.Get(at + "/runs").OK().List("")); given.Load() != 1 || n != 2 {
					t.Fatalf("%d answers were accepted, there are %d runs", given.Load(), n)
				}
			}
		})
	}
}

// TestAnswerAfterACancelIsRefused checks that an answer whose run was cancelled cannot be given again, and that the
// thread continues with an input.
func TestAnswerAfterACancelIsRefused(t *testing.T) {
	t.Parallel()
	for name, q := range questionable() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			peer := q.peer()
			g := rig.NewGate(peer, q.work, q.stops+1)
			b := rig.InFront(t, g, func(a *config.Agent) { a.Dialect = q.dialect })
			at, _, _ := stopped(b)
			answer := at + "/runs/" + b.Post(at+"/runs", `{"assistant_id":"agent","command":{"resume":`+q.answer+`}}`).OK().Text("run_id")
			g.Await(t)
			b.Post(answer+"/cancel?wait=true", "").Is(http.StatusNoContent)
			late := resume(b, at, q.answer).Is(http.StatusConflict)
			if late.Text("code") != "no_pending_interrupt" || late.At("detail.pending") == nil {
				t.Errorf("refused with %s", late.Body)
			}
			if n := len(b.Get(at + "/runs").OK().List("")); n != 2 {
				t.Errorf("%d runs", n)
			}
			b.Expect(at, "status", "idle")
		})
	}
}

// eachAtItsQuestion runs test with a task that waits for an answer, for each kind of agent and of steps.
func eachAtItsQuestion(t *testing.T, test func(t *testing.T, q questioned, peer adaptertest.Peer, b *rig.Bridge, at string)) {
	for name, q := range questionable() {
		for modeName, mode := range rig.ModesWithSteps() {
			t.Run(name+"/"+modeName, func(t *testing.T) {
				t.Parallel()
				peer := q.peer()
				b := rig.InFront(t, peer, mode)
				at := b.Task(`{"input":"hi"}`)
				b.Post(at+"/steps", "").OK()
				b.Post(at+"/steps", "").OK()
				test(t, q, peer, b, at)
			})
		}
	}
}

// TestAnswerByAStep checks that a v1 client answers with its next step. A step that names another question is refused.
// Of several concurrent steps one reaches the agent as the answer, and the others become the steps after it.
func TestAnswerByAStep(t *testing.T) {
	t.Parallel()
	eachAtItsQuestion(t, func(t *testing.T, q questioned, peer adaptertest.Peer, b *rig.Bridge, at string) {
		wrong := b.Post(at+"/steps", `{"additional_input":{"resume":{"`+rig.UnknownQuestion+`":`+q.answer+`}}}`).Is(http.StatusUnprocessableEntity)
		for _, list := range b.Get(rig.ThreadOfTask(at)).OK().At("interrupts").(map[string]any) {
			if id := rig.Dig(list, "0.id").(string); !rig.Says(string(wrong.Body), rig.UnknownQuestion, id) {
				t.Errorf("refused with %s", wrong.Body)
			}
		}
		if n := answers(peer); n != 0 {
			t.Errorf("the agent received %d answers to another question", n)
		}
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { b.Post(at+"/steps", `{"additional_input":{"resume":`+q.answer+`}}`).OK() })
		}
		all.Wait()
		if n := answers(peer); n != 1 {
			t.Errorf("the agent received %d answers, want 1", n)
		}
	})
}

// TestTaskCancelledAtItsQuestion checks that an answer is refused after its task was cancelled.
func TestTaskCancelledAtItsQuestion(t *testing.T) {
	t.Parallel()
	eachAtItsQuestion(t, func(t *testing.T, q questioned, peer adaptertest.Peer, b *rig.Bridge, at string) {
		b.Expect(rig.ThreadOfTask(at), "status", "interrupted")
		before := asked(peer)
		b.CancelTask(at)
		b.CheckCancelled(b.Post(at+"/steps", `{"additional_input":{"resume":`+q.answer+`}}`))
		b.CheckCancelled(b.Post(at+"/steps", ""))
		b.CancelTask(at) // repeated
		b.Expect(rig.ThreadOfTask(at), "status", "idle")
		if left := b.Get(rig.ThreadOfTask(at)).OK().At("interrupts").(map[string]any); len(left) != 0 {
			t.Errorf("open questions: %v", left)
		}
		resume(b, rig.ThreadOfTask(at), q.answer).Is(http.StatusConflict)
		if asked(peer) != before {
			t.Error("the agent was called again")
		}
	})
}
