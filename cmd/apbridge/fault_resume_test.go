package main

import (
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/config"
)

const unknownQuestion = "0123456789abcdef0123456789abcdef"

// questioned is an agent of either kind whose first run stops with a question.
type questioned struct {
	peer    func() adaptertest.Peer
	dialect string
	answer  string // a resume value
	work    func(*http.Request) bool
	stops   int // requests for work until it asks
}

func questionable() map[string]questioned {
	return map[string]questioned{
		"step agent": {func() adaptertest.Peer { return curious(1) }, "taskstep", `"blue"`, stepPosts, 2},
		"graph":      {func() adaptertest.Peer { return asking(adaptertest.ChatPlay()) }, "threadrun", `{"type":"accept"}`, runPosts, 1},
	}
}

// asked is how often an agent was asked for work.
func asked(peer adaptertest.Peer) int {
	if a, ok := peer.(*adaptertest.ThreadAgent); ok {
		return a.Calls(startRoute)
	}
	return len(peer.(*adaptertest.StepAgent).Inputs())
}

// answers is how many answers an agent was told.
func answers(peer adaptertest.Peer) (n int) {
	if a, ok := peer.(*adaptertest.ThreadAgent); ok {
		for _, body := range a.Bodies(startRoute) {
			n += strings.Count(string(body), `"resume":`)
		}
		return n
	}
	return strings.Count(strings.Join(peer.(*adaptertest.StepAgent).Inputs(), "\n"), "blue")
}

// stopped is a thread whose run has asked, and the id of the question.
func (b *bridge) stopped() (at, run, question string) {
	b.t.Helper()
	at = b.thread()
	run = b.begin(at, "")
	b.get(run + "/join").ok()
	b.expect(at, "status", "interrupted")
	for _, list := range b.get(at).ok().at("interrupts").(map[string]any) {
		question = dig(list, "0.id").(string)
	}
	return at, run, question
}

func (b *bridge) resume(at, value string, more ...string) answer {
	b.t.Helper()
	return b.post(at+"/runs/wait", `{"assistant_id":"agent",`+strings.Join(more, "")+`"command":{"resume":`+value+`}}`)
}

// TestA22_AnswerToAnotherQuestion is refused with the ids of the open ones, does not
// reach the agent, and leaves the question to be answered.
func TestA22_AnswerToAnotherQuestion(t *testing.T) {
	t.Parallel()
	for name, q := range questionable() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			peer := q.peer()
			b := inFront(t, peer)
			at, _, question := b.stopped()
			before := asked(peer)
			wrong := b.resume(at, `{"`+unknownQuestion+`":`+q.answer+`}`).is(http.StatusUnprocessableEntity)
			if !says(string(wrong.body), unknownQuestion, question) {
				t.Errorf("refused with %s", wrong.body)
			}
			b.resume(at, `{"`+question+`":`+q.answer+`,"`+unknownQuestion+`":1}`).is(http.StatusUnprocessableEntity)
			b.expect(at, "status", "interrupted")
			if n := asked(peer); n != before {
				t.Errorf("the agent was asked %d times for it", n-before)
			}
			if done := b.resume(at, `{"`+question+`":`+q.answer+`}`).ok(); done.at("__error__") != nil {
				t.Errorf("the right answer: %s", done.body)
			}
			b.expect(at, "status", "idle")
		})
	}
}

// TestA22_WhichOfTwo: where several questions are open, an answer must say which it
// is for.
func TestA22_WhichOfTwo(t *testing.T) {
	t.Parallel()
	agent := asking(adaptertest.ChatPlay())
	agent.Plays[0] = askingTwice()
	b := inFront(t, agent)
	at, _, _ := b.stopped()
	refused := b.resume(at, `{"type":"accept"}`).is(http.StatusUnprocessableEntity)
	if !says(string(refused.body), firstQuestion, otherQuestion) {
		t.Errorf("refused with %s", refused.body)
	}
	b.resume(at, `{"`+otherQuestion+`":{"type":"accept"}}`).ok()
	if bodies := agent.Bodies(startRoute); len(bodies) != 2 || !says(string(bodies[1]), otherQuestion) {
		t.Errorf("%d requests for runs, the last: %s", len(bodies), bodies[len(bodies)-1])
	}
}

const firstQuestion, otherQuestion = "74462228383d847ecfda1c079720e8fc", "84462228383d847ecfda1c079720e8fd"

// askingTwice is a graph whose node asks two questions at once.
func askingTwice() adaptertest.ThreadPlay {
	play := adaptertest.AskPlay()
	twice := strings.NewReplacer(`[{"id":"`+firstQuestion+`",`, `[{"id":"`+otherQuestion+`","value":"Sure?"},{"id":"`+firstQuestion+`",`)
	for i, f := range play.Frames {
		play.Frames[i] = twice.Replace(f)
	}
	play.State = twice.Replace(play.State)
	return play
}

// TestA22_AnsweredTwice: whether the first answer waits, is worked on, or has been,
// and with whatever strategy, there is no second one.
func TestA22_AnsweredTwice(t *testing.T) {
	t.Parallel()
	for name, q := range questionable() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			peer := q.peer()
			g := newGate(peer, q.work, 2*q.stops+1) // two questions, then the answer
			other := newGate(g, q.work, q.stops+1)
			b := inFront(t, other, func(a *config.Agent) { a.Concurrency, a.Dialect = 1, q.dialect })
			at, _, question := b.stopped()
			elsewhere := b.begin(b.thread(), "")
			other.await(t)
			again := func(when string) {
				t.Helper()
				for _, strategy := range []string{"reject", "enqueue"} {
					a := b.resume(at, q.answer, `"multitask_strategy":"`+strategy+`",`).is(http.StatusConflict)
					if code := a.text("code"); code != "nothing_to_resume" && (strategy == "enqueue" || code != "thread_busy") {
						t.Errorf("%s, %s: %s", when, strategy, a.body)
					}
				}
			}
			first := at + "/runs/" + b.post(at+"/runs", `{"assistant_id":"agent","command":{"resume":{"`+question+`":`+q.answer+`}}}`).ok().text("run_id")
			b.expect(first, "status", "pending")
			again("while it waits")
			other.open()
			b.get(elsewhere + "/join").ok()
			g.await(t)
			again("while it is worked on")
			g.open()
			b.get(first + "/join").ok()
			again("when it is done")
			b.expect(first, "status", "success")
			if n := len(b.get(at + "/runs").ok().list("")); n != 2 {
				t.Errorf("%d runs on the thread, want the question and the answer", n)
			}
		})
	}
}

// TestA22_AnsweredAtOnce: of many answers at the same time one counts, also where the
// others would wait for their turn.
func TestA22_AnsweredAtOnce(t *testing.T) {
	t.Parallel()
	for name, q := range questionable() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			peer := q.peer()
			b := inFront(t, peer)
			for range 10 {
				at, _, _ := b.stopped()
				var all sync.WaitGroup
				var given atomic.Int32
				for range 6 {
					all.Go(func() {
						a := b.resume(at, q.answer, `"multitask_strategy":"enqueue",`)
						if a.status == http.StatusOK {
							given.Add(1)
						} else if a.status != http.StatusConflict || a.text("code") != "nothing_to_resume" {
							t.Errorf("answered %d: %s", a.status, a.body)
						}
					})
				}
				all.Wait()
				if n := len(b.get(at + "/runs").ok().list("")); given.Load() != 1 || n != 2 {
					t.Fatalf("%d answers were taken, there are %d runs", given.Load(), n)
				}
			}
		})
	}
}

// TestA22_AnsweredAfterACancel: an answer whose run was cancelled is used up; the
// thread goes on with input.
func TestA22_AnsweredAfterACancel(t *testing.T) {
	t.Parallel()
	for name, q := range questionable() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			peer := q.peer()
			g := newGate(peer, q.work, q.stops+1)
			b := inFront(t, g, func(a *config.Agent) { a.Dialect = q.dialect })
			at, _, _ := b.stopped()
			answer := at + "/runs/" + b.post(at+"/runs", `{"assistant_id":"agent","command":{"resume":`+q.answer+`}}`).ok().text("run_id")
			g.await(t)
			b.post(answer+"/cancel?wait=true", "").is(http.StatusNoContent)
			late := b.resume(at, q.answer).is(http.StatusConflict)
			if late.text("code") != "nothing_to_resume" || late.at("detail.pending") == nil {
				t.Errorf("refused with %s", late.body)
			}
			if n := len(b.get(at + "/runs").ok().list("")); n != 2 {
				t.Errorf("%d runs", n)
			}
			b.expect(at, "status", "idle")
		})
	}
}

// eachAtItsQuestion is a task that waits for an answer, of either kind of agent and
// with either kind of steps.
func eachAtItsQuestion(t *testing.T, test func(t *testing.T, q questioned, peer adaptertest.Peer, b *bridge, at string)) {
	for name, q := range questionable() {
		for modeName, mode := range modesWithSteps() {
			t.Run(name+"/"+modeName, func(t *testing.T) {
				t.Parallel()
				peer := q.peer()
				b := inFront(t, peer, mode)
				at := b.task(`{"input":"hi"}`)
				b.post(at+"/steps", "").ok()
				b.post(at+"/steps", "").ok()
				test(t, q, peer, b, at)
			})
		}
	}
}

// TestA22_ThroughSteps: v1 answers with its next step. One that names another question
// is refused; of several at once the agent is told one, and the others are the steps
// after it.
func TestA22_ThroughSteps(t *testing.T) {
	t.Parallel()
	eachAtItsQuestion(t, func(t *testing.T, q questioned, peer adaptertest.Peer, b *bridge, at string) {
		wrong := b.post(at+"/steps", `{"additional_input":{"resume":{"`+unknownQuestion+`":`+q.answer+`}}}`).is(http.StatusUnprocessableEntity)
		for _, list := range b.get(threadOfTask(at)).ok().at("interrupts").(map[string]any) {
			if id := dig(list, "0.id").(string); !says(string(wrong.body), unknownQuestion, id) {
				t.Errorf("refused with %s", wrong.body)
			}
		}
		if n := answers(peer); n != 0 {
			t.Errorf("the agent was told %d answers to another question", n)
		}
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { b.post(at+"/steps", `{"additional_input":{"resume":`+q.answer+`}}`).ok() })
		}
		all.Wait()
		if n := answers(peer); n != 1 {
			t.Errorf("the agent was told %d answers, want 1", n)
		}
	})
}

// TestA22_TaskCancelledAtItsQuestion: nobody waits for the answer any more.
func TestA22_TaskCancelledAtItsQuestion(t *testing.T) {
	t.Parallel()
	eachAtItsQuestion(t, func(t *testing.T, q questioned, peer adaptertest.Peer, b *bridge, at string) {
		b.expect(threadOfTask(at), "status", "interrupted")
		before := asked(peer)
		b.cancelTask(at)
		b.checkCancelled(b.post(at+"/steps", `{"additional_input":{"resume":`+q.answer+`}}`))
		b.checkCancelled(b.post(at+"/steps", ""))
		b.cancelTask(at) // again
		b.expect(threadOfTask(at), "status", "idle")
		if left := b.get(threadOfTask(at)).ok().at("interrupts").(map[string]any); len(left) != 0 {
			t.Errorf("still open: %v", left)
		}
		b.resume(threadOfTask(at), q.answer).is(http.StatusConflict)
		if asked(peer) != before {
			t.Error("the agent was asked for more")
		}
	})
}

// TestAnswerNamesTheQuestionEitherWay: the id of a question is 32 hexadecimal digits, as
// LangGraph's are, and may be named as the UUID that it was in earlier versions.
func TestAnswerNamesTheQuestionEitherWay(t *testing.T) {
	t.Parallel()
	digits := regexp.MustCompile(`^([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$`)
	for _, spelling := range []string{"$1$2$3$4$5", "$1-$2-$3-$4-$5"} {
		peer := curious(1)
		b := inFront(t, peer)
		at, _, question := b.stopped()
		if !digits.MatchString(question) {
			t.Fatalf("the question is %q, which LangGraph does not take for an id", question)
		}
		named := digits.ReplaceAllString(question, spelling)
		if said := b.resume(at, `{"`+named+`":"blue"}`).ok(); said.at("__error__") != nil || answers(peer) != 1 {
			t.Errorf("answered as %s: %.300s, and the agent was told %d answers", named, said.body, answers(peer))
		}
		b.expect(at, "status", "idle")
	}
}
