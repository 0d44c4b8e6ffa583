package main

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/google/go-cmp/cmp"
)

// newerStepAgent is a step agent of a later version of its document: each object has a
// further field, and no step has a status of today's.
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

// TestF2_NewerStepAgent: fields and statuses that the bridge does not know change nothing.
func TestF2_NewerStepAgent(t *testing.T) {
	t.Parallel()
	agent := &newerStepAgent{StepAgent: adaptertest.NewStepAgent(adaptertest.Plain)}
	b := inFront(t, agent)
	who := behind{texts: []string{"one", "two", "three"}, steps: true}
	checkTurns(t, "wait", b.post("/runs/wait", `{"assistant_id":"agent",`+saysHi+`}`).ok().at(""), who, 1)
	task := b.post("/ap/v1/agent/tasks", `{"input":"hi","someday":[{}]}`).ok().text("task_id")
	checkSteps(t, who, pullAll(t, b, "/ap/v1/agent/tasks/"+task, `{"input":"","someday":1}`))
	if n, newer := agent.Work(), agent.newer.Load(); n != 6 || newer < 6 {
		t.Errorf("the agent did %d steps for two turns of three, and told %d in later words", n, newer)
	}
}

// newerPlay is a run of a graph on a server of a later version: frames of unknown names,
// further members in known ones, a checkpoint of an unknown source.
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

// TestF2_NewerGraph: frames of an unknown name belong to no mode that a reader can ask
// for, so that none is shown; further members of messages stay; the run ends as ever.
func TestF2_NewerGraph(t *testing.T) {
	t.Parallel()
	b := inFront(t, &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{newerPlay()}})
	who := behind{texts: []string{"planning", "thinking <b>", "the answer is 42"}}
	thread := "/threads/" + b.post("/threads", `{"someday":1}`).ok().text("thread_id")
	res, frames := b.stream("POST", thread+"/runs/stream", `{"assistant_id":"agent","stream_mode":["updates","values"],"someday":1,`+saysHi+`}`, 0)
	res.ok()
	checkFrames(t, frames, who)
	for _, f := range frames {
		if strings.HasPrefix(f.event, "someday") {
			t.Errorf("a frame that nobody asked for: %+v", f)
		}
	}
	b.post(thread+"/runs/stream", `{"assistant_id":"agent","stream_mode":["someday"]}`).is(422)
	values := b.get(thread + "/state").ok()
	checkTurns(t, "the state", values.at("values"), who, 1)
	if diff := cmp.Diff("kept", values.at("values.messages.3.someday")); diff != "" {
		t.Errorf("a message's further member (-want +got):\n%s\n%s", diff, values.body)
	}
}

// TestF2_NewerQuestion: what a question holds beyond today's members reaches the client,
// and it can be answered.
func TestF2_NewerQuestion(t *testing.T) {
	t.Parallel()
	ask := adaptertest.AskPlay()
	newer := strings.NewReplacer(`[{"id":"74462228383d847ecfda1c079720e8fc",`, `[{"someday":{"x":1},"ns":["a:1"],"id":"74462228383d847ecfda1c079720e8fc",`)
	for i, f := range ask.Frames {
		ask.Frames[i] = newer.Replace(f)
	}
	ask.State = newer.Replace(ask.State)
	b := inFront(t, &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{ask, secondPlay()}})
	thread := "/threads/" + b.post("/threads", `{}`).ok().text("thread_id")
	asked := b.post(thread+"/runs/wait", `{"assistant_id":"agent",`+saysHi+`}`).ok()
	if got := asked.at("__interrupt__.0.value.0.description"); got != "Send this mail?" {
		t.Errorf("the question is %s", asked.body)
	}
	if got := b.post(thread+"/runs/wait", `{"assistant_id":"agent","command":{"resume":"yes","someday":1}}`).ok(); got.at("__error__") != nil {
		t.Errorf("the answer: %s", got.body)
	}
}
