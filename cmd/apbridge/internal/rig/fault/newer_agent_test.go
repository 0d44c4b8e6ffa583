package fault

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/google/go-cmp/cmp"
)

// newerStepAgent is a step agent of a later version of its document. Each object has an additional field, and no step
// has a currently known status.
type newerStepAgent struct {
	*adaptertest.StepAgent
	newer atomic.Int64 // steps that were told in later words
}

func (a *newerStepAgent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := httptest.NewRecorder()
	a.StepAgent.ServeHTTP(answer, r)
	body := strings.NewReplacer(`"task_id":`, `"someday":{"x":[1,null]},"task_id":`, `"artifact_id":`, `"hence":"x","artifact_id":`,
		`"status":"completed"`, `"status":"contemplated"`, `"pagination":{`, `"pagination":{"cursor":"c",`).Replace(answer.Body.String())
	if strings.Contains(body, `"someday"`) && strings.Contains(body, `"contemplated"`) {
		a.newer.Add(1)
	}
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(answer.Code)
	_, _ = w.Write([]byte(body))
}

// TestNewerStepAgent checks that unknown fields and statuses change nothing.
func TestNewerStepAgent(t *testing.T) {
	t.Parallel()
	agent := &newerStepAgent{StepAgent: adaptertest.NewStepAgent(adaptertest.Plain)}
	b := rig.InFront(t, agent)
	who := rig.Behind{Texts: []string{"one", "two", "three"}, Steps: true}
	rig.CheckTurns(t, "wait", b.Post("/runs/wait", `{"assistant_id":"agent",`+rig.SaysHi+`}`).OK().At(""), who, 1)
	task := b.Post("/ap/v1/agent/tasks", `{"input":"hi","someday":[{}]}`).OK().Text("task_id")
	rig.CheckSteps(t, who, rig.PullAll(t, b, "/ap/v1/agent/tasks/"+task, `{"input":"","someday":1}`))
	if n, newer := agent.Work(), agent.newer.Load(); n != 6 || newer < 6 {
		t.Errorf("the agent did %d steps in two turns, want 6; %d of them have a newer form", n, newer)
	}
}

// newerPlay returns a run of a graph on a server of a later version. It has frames of unknown names, unknown members in
// known frames, and a checkpoint of an unknown source.
func newerPlay() adaptertest.ThreadPlay {
	play := adaptertest.ChatPlay()
	for i, f := range play.Frames {
		play.Frames[i] = strings.NewReplacer(`"attempt":1`, `"attempt":1,"someday":{"x":1}`, `"triggers"`, `"someday":[1],"triggers"`,
			`"source":"loop"`, `"source":"dream","someday":1`, `"type":"ai"`, `"type":"ai","someday":"kept"`).Replace(f)
	}
	play.Frames = slices.Insert(play.Frames, 3, `someday {"x":[1,null]}`, `someday|sub:1 "words"`)
	play.State = strings.NewReplacer(`"next":`, `"someday":{},"next":`, `"type":"ai"`, `"type":"ai","someday":"kept"`).Replace(play.State)
	return play
}

// TestNewerGraph checks that a frame of the outermost graph with an unknown name is passed on under that name, and that
// unknown members of messages are kept.
func TestNewerGraph(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{newerPlay()}})
	who := rig.Behind{Texts: []string{"planning", "thinking <b>", "the answer is 42"}}
	thread := "/threads/" + b.Post("/threads", `{"someday":1}`).OK().Text("thread_id")
	res, frames := b.Stream("POST", thread+"/runs/stream", `{"assistant_id":"agent","stream_mode":["updates","values"],"someday":1,`+rig.SaysHi+`}`, 0)
	res.OK()
	rig.CheckFrames(t, frames, who)
	var unknown []string
	for _, f := range frames {
		if strings.HasPrefix(f.Event, "someday") {
			unknown = append(unknown, f.Event+" "+f.Data)
		}
	}
	if diff := cmp.Diff([]string{`someday {"x":[1,null]}`}, unknown); diff != "" {
		t.Errorf("frames of an unknown name (-want +got):\n%s", diff)
	}
	b.Post(thread+"/runs/stream", `{"assistant_id":"agent","stream_mode":["someday"]}`).Is(422)
	values := b.Get(thread + "/state").OK()
	rig.CheckTurns(t, "the state", values.At("values"), who, 1)
	if diff := cmp.Diff("kept", values.At("values.messages.3.someday")); diff != "" {
		t.Errorf("an unknown member of a message (-want +got):\n%s\n%s", diff, values.Body)
	}
}

// TestNewerQuestion checks that unknown members of a question reach the client and that the question can be answered.
func TestNewerQuestion(t *testing.T) {
	t.Parallel()
	ask := adaptertest.AskPlay()
	newer := strings.NewReplacer(`[{"id":"74462228383d847ecfda1c079720e8fc",`, `[{"someday":{"x":1},"ns":["a:1"],"id":"74462228383d847ecfda1c079720e8fc",`)
	for i, f := range ask.Frames {
		ask.Frames[i] = newer.Replace(f)
	}
	ask.State = newer.Replace(ask.State)
	b := rig.InFront(t, &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{ask, rig.SecondPlay()}})
	thread := "/threads/" + b.Post("/threads", `{}`).OK().Text("thread_id")
	asked := b.Post(thread+"/runs/wait", `{"assistant_id":"agent",`+rig.SaysHi+`}`).OK()
	if got := asked.At("__interrupt__.0.value.0.description"); got != "Send this mail?" {
		t.Errorf("the question is %s", asked.Body)
	}
	if got := b.Post(thread+"/runs/wait", `{"assistant_id":"agent","command":{"resume":"yes","someday":1}}`).OK(); got.At("__error__") != nil {
		t.Errorf("the answer: %s", got.Body)
	}
}
