package rule

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/google/go-cmp/cmp"
)

// script has a task's events, and the steps released after each.
type script struct {
	t      *testing.T
	folder *StepFolder
	fold   *state.Fold
	run    string
	out    []string
}

func newScript(t *testing.T, mode mapping.Stepping) *script {
	return &script{t: t, folder: NewStepFolder(someTask, mode), fold: foldOf(t, `{}`), run: "run1"}
}

// add adds an event. The released steps are recorded as "n name output [artifacts] last".
func (s *script) add(ev mapping.Event) *script {
	s.t.Helper()
	ev.RunID = s.run
	after, err := s.fold.Apply(&ev)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, st := range s.folder.Add(&state.Entry{Event: ev, Before: s.fold, After: after}) {
		s.out = append(s.out, s.show(st))
	}
	s.fold = after
	return s
}

func (s *script) show(st mapping.Step) string {
	if st.ID != mapping.StepID(someTask, st.N) || st.TaskID != someTask || st.RunID != s.run || st.Status != mapping.StepCompleted {
		s.t.Errorf("step %d has ids %s, %s, %s and status %s", st.N, st.ID, st.TaskID, st.RunID, st.Status)
	}
	text := fmt.Sprintf("%d %s", st.N, st.Name)
	if st.Output != nil {
		text += fmt.Sprintf(" %q", *st.Output)
	}
	for _, a := range st.Artifacts {
		text += " +" + a.ID
	}
	if st.IsLast {
		text += " last"
	}
	return text
}

// node adds an update of a thread/run agent with text.
func (s *script) node(name, text string) *script {
	delta := fmt.Sprintf(`{"messages":[{"type":"ai","id":"%s-%s","content":%q}]}`, s.run, text, text)
	return s.add(mapping.Event{Kind: mapping.KindUpdate, Head: mapping.Head{Node: name}, Data: asRaw(delta)})
}

func (s *script) start(run string) *script {
	s.run = run
	return s.add(mapping.Event{Kind: mapping.KindStarted})
}

func (s *script) end(o mapping.Outcome) *script {
	return s.add(mapping.Event{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &o}})
}

// now returns the steps released since the last call.
func (s *script) now() string {
	text := strings.Join(s.out, "; ")
	s.out = nil
	return text
}

func (s *script) want(what, want string) *script {
	s.t.Helper()
	if diff := cmp.Diff(want, s.now()); diff != "" {
		s.t.Errorf("%s: %s", what, diff)
	}
	return s
}

func TestFoldGraphRun(t *testing.T) {
	t.Parallel()
	s := newScript(t, mapping.SteppingFree).start("run1")
	s.node("plan", "first").want("held until more is known", "")
	if h := s.folder.Held(); h == nil || h.Status != mapping.StepRunning || h.N != 1 || s.folder.Count() != 0 {
		t.Errorf("held: %+v", h)
	}
	s.add(mapping.Event{Kind: mapping.KindState, Head: mapping.Head{Next: []string{"work"}, Artifacts: []string{"a1"}}}).
		want("a next node is proof", `1 plan "first" +a1`)
	s.node("work", "second").want("held", "")
	s.add(mapping.Event{Kind: mapping.KindChunk, Head: mapping.Head{Name: "tasks"}, Data: asRaw(`{"id":"1","name":"work","result":{},"interrupts":[]}`)}).
		want("a finished task is no proof", "")
	s.add(mapping.Event{Kind: mapping.KindChunk, Head: mapping.Head{Name: "tasks", NS: []string{"sub:1"}}, Data: asRaw(`{"id":"2","name":"x"}`)}).
		want("nor is a subgraph's", "")
	s.add(mapping.Event{Kind: mapping.KindChunk, Head: mapping.Head{Name: "tasks"}, Data: asRaw(`{"id":"2","name":"answer","input":{},"interrupts":[]}`)}).
		want("a started task is proof", `2 work "second"`)
	s.node("answer", "third").node("last", "fourth").want("an update is proof", `3 answer "third"`)
	s.add(mapping.Event{Kind: mapping.KindEnd, Head: mapping.Head{Artifacts: []string{"a2"}, Outcome: &mapping.Outcome{Status: mapping.RunSuccess}}}).
		want("the end", `4 last "fourth" +a2 last`)
	s.start("run2").node("plan", "again").end(mapping.Outcome{Status: mapping.RunSuccess}).want("a follow-up goes on counting", `5 plan "again" last`)
}

func TestFoldUpdates(t *testing.T) {
	t.Parallel()
	update := func(node, data string) mapping.Event {
		return mapping.Event{Kind: mapping.KindUpdate, Head: mapping.Head{Node: node}, Data: asRaw(data)}
	}
	for name, c := range map[string]struct {
		ev         mapping.Event
		want, more string
	}{
		"no message":   {update("n", `{"step": 1}`), `1 n "{\"step\":1}" last`, `{"n":{"step": 1}}`},
		"several keys": {update("a+b", `{"a":{"messages":{"type":"ai","content":"1"}},"b":{"messages":[{"role":"assistant","content":"2"}],"files":{"/x":"y"}}}`), `1 a+b "1\n\n2" last`, `{"a":{"messages":{"type":"ai","content":"1"}},"b":{"messages":[{"role":"assistant","content":"2"}]}}`},
		"a plus node":  {update("a+b", `{"x":1}`), `1 a+b "{\"x\":1}" last`, `{"a+b":{"x":1}}`},
		"one with +":   {update("a+b", `{"a+b":{"x":1}}`), `1 a+b "{\"x\":1}" last`, `{"a+b":{"x":1}}`},
		"files alone":  {update("n", `{"files":{"/a":"long","/b":null}}`), `1 n "{\"files\":[\"/a\",\"/b\"]}" last`, `{"n":{}}`},
		"not by ai":    {update("n", `{"messages":[{"type":"tool","content":"r"}]}`), `1 n "{\"messages\":[{\"type\":\"tool\",\"content\":\"r\"}]}" last`, `{"n":{"messages":[{"type":"tool","content":"r"}]}}`},
		"no object":    {update("n", `[1, 2]`), `1 n "[1,2]" last`, `{"n":[1, 2]}`},
		"old message":  {update("n", `{"messages":[{"type":"ai","id":"old","content":"old"},{"type":"ai","id":"new","content":"new"}]}`), `1 n "new" last`, `{"n":{"messages":[{"type":"ai","id":"old","content":"old"},{"type":"ai","id":"new","content":"new"}]}}`},
		"empty":        {update("n", `{}`), `1  "old" last`, ``},
		"null":         {update("n", `null`), `1  "old" last`, ``},
		"start":        {update("__start__", `{"x":1}`), `1  "old" last`, ``},
		"subgraph":     {mapping.Event{Kind: mapping.KindUpdate, Head: mapping.Head{Node: "n", NS: []string{"s:1"}}, Data: asRaw(`{"x":1}`)}, `1  "old" last`, ``},
	} {
		s := newScript(t, mapping.SteppingFree)
		s.fold = foldOf(t, `{"messages":[{"type":"ai","id":"old","content":"old"}]}`)
		s.start("run1").add(c.ev)
		if held := s.folder.Held(); held != nil && string(held.AdditionalOutput) != c.more {
			t.Errorf("%s: additional output %s, want %s", name, held.AdditionalOutput, c.more)
		}
		s.end(mapping.Outcome{Status: mapping.RunSuccess}).want(name, c.want)
	}
}

func TestFoldQuestion(t *testing.T) {
	t.Parallel()
	asked := []mapping.Interrupt{{ID: "i", Value: asRaw(`{"question":"Which?"}`)}}
	s := newScript(t, mapping.SteppingFree).start("run1").node("plan", "first")
	s.add(mapping.Event{Kind: mapping.KindInterrupt, Head: mapping.Head{Interrupts: asked}}).want("the question", `1 plan "first"; 2 interrupt "Which?"`)
	s.end(mapping.Outcome{Status: mapping.RunInterrupted, Interrupts: asked}).want("the end that waits", "")
	s.start("run2").node("plan", "blue").end(mapping.Outcome{Status: mapping.RunSuccess}).want("resumed", `3 plan "blue" last`)

	silent := newScript(t, mapping.SteppingFree).start("run1").node("plan", "first")
	silent.end(mapping.Outcome{Status: mapping.RunInterrupted, Interrupts: asked}).want("a question only the end knows", `1 plan "first"; 2 interrupt "Which?"`)
	pause := newScript(t, mapping.SteppingFree).start("run1").node("plan", "first")
	pause.end(mapping.Outcome{Status: mapping.RunInterrupted}).want("a pause without a question", `1 plan "first"`)
	if got := NewStepFolder(someTask, mapping.SteppingFree).question(&state.Entry{}, asked); string(got[0].AdditionalOutput) != `{"interrupt":[{"id":"i","value":{"question":"Which?"}}]}` {
		t.Errorf("additional output: %s", got[0].AdditionalOutput)
	}
}

func TestFoldBadEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o          mapping.Outcome
		want, more string
	}{
		"failed":    {mapping.Outcome{Status: mapping.RunError, Fault: &mapping.Fault{Code: mapping.CodeStepLimit, Message: "Too many."}}, `1 plan "first"; 2  "Error: Too many." last`, `{"error":{"type":"step_limit","message":"Too many."}}`},
		"timed out": {mapping.Outcome{Status: mapping.RunTimeout}, `1 plan "first"; 2  "Error: The run took too long." last`, ``},
		"cancelled": {mapping.Outcome{Status: mapping.RunInterrupted, Cancelled: true}, `1 plan "first"; 2  "Error: The run was cancelled." last`, `{"error":{"type":"cancelled","message":"The run was cancelled."}}`},
		"parked":    {mapping.Outcome{Parked: true}, `1 plan "first"`, ``},
	} {
		s := newScript(t, mapping.SteppingFree).start("run1").node("plan", "first").end(c.o)
		s.want(name, c.want)
		if o := s.folder; c.more != "" && o.Count() != 2 {
			t.Errorf("%s: count %d", name, o.Count())
		}
		if c.more != "" && string(faultOutput(endFault(&c.o), nil)) != c.more {
			t.Errorf("%s: %s", name, faultOutput(endFault(&c.o), nil))
		}
	}
}

// TestFoldFilesAtABadEnd checks that changes of files are not a step. The last step names them.
func TestFoldFilesAtABadEnd(t *testing.T) {
	t.Parallel()
	skipped := []mapping.SkippedFile{{Path: "b.txt", Reason: "Gone."}}
	for mode, want := range map[mapping.Stepping]string{mapping.SteppingFree: "2", mapping.SteppingLockstep: "2", mapping.SteppingRun: "1"} {
		s := newScript(t, mode).start("run1")
		s.add(StepUpdate("run1", someTask, 1, mapping.StepInfo{Output: asRaw(`"one"`)}, nil, mapping.ApprovalAuto)).now()
		ev := FilesUpdate("run1", asRaw(`{"/a.txt":"two"}`), skipped)
		ev.Head.Artifacts = []string{"a1"}
		s.add(ev).want("no step", "")
		if list := s.fold.Messages(); len(list) != 2 || !SaysOnlySkipped(list[1]) {
			t.Errorf("messages %s", list)
		}
		s.end(mapping.Outcome{Status: mapping.RunTimeout}).want(string(mode), want+`  "Error: The run took too long." +a1 last`)
	}
	f := NewStepFolder(someTask, mapping.SteppingFree)
	f.Add(&state.Entry{Event: FilesUpdate("r", nil, skipped)})
	last := f.Add(&state.Entry{Event: mapping.Event{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &mapping.Outcome{Status: mapping.RunError, Fault: &mapping.Fault{Code: "c", Message: "m"}}}}})
	if got := string(last[0].AdditionalOutput); got != `{"error":{"type":"c","message":"m"},"skipped_files":[{"path":"b.txt","reason":"Gone."}]}` {
		t.Errorf("additional output %s", got)
	}
}

func TestFoldAgentSteps(t *testing.T) {
	t.Parallel()
	s := newScript(t, mapping.SteppingLockstep).start("run1")
	step := func(n int, info mapping.StepInfo, ask mapping.Approval, artifacts ...string) mapping.Event {
		ev := StepUpdate(s.run, someTask, n, info, nil, ask)
		ev.Head.Artifacts = artifacts
		return ev
	}
	in := TextInput("go", someTask)
	s.add(mapping.Event{Kind: mapping.KindInput, Data: in.Delta()})
	s.add(step(1, mapping.StepInfo{ID: "7", Name: "write it", Output: asRaw(`"one"`)}, mapping.ApprovalAuto, "a1", "a1")).
		want("is_last is known", `1 write it "one" +a1`)
	s.add(step(2, mapping.StepInfo{Output: asRaw(`{"a": 1}`), SaysLast: true}, mapping.ApprovalAuto)).want("object", `2 step "{\"a\":1}" last`)
	s.end(mapping.Outcome{Status: mapping.RunSuccess}).want("no further step", "")
	s.start("run2")
	s.add(step(3, mapping.StepInfo{Output: asRaw(`"sure?"`)}, mapping.ApprovalStep)).want("an asking step", `3 step "sure?"`)
	s.end(mapping.Outcome{Status: mapping.RunInterrupted, Interrupts: s.fold.Interrupts()}).want("waits", "")
	s.start("run3")
	s.add(step(4, mapping.StepInfo{Output: asRaw(`null`), SaysLast: true}, mapping.ApprovalAuto)).want("no output", `4 step last`)
	s.end(mapping.Outcome{Status: mapping.RunSuccess}).want("no further step", "")

	ev := StepUpdate("r", someTask, 1, mapping.StepInfo{ID: "7", Output: asRaw(`"x"`), Additional: asRaw(`{"cost":0.10}`)}, nil, mapping.ApprovalAuto)
	got := NewStepFolder(someTask, mapping.SteppingFree).Add(&state.Entry{Event: ev})
	if len(got) != 1 || string(got[0].AdditionalOutput) != `{"cost":0.10,"upstream_step_id":"7"}` {
		t.Errorf("additional output: %+v", got)
	}
}

func TestFoldWholeRuns(t *testing.T) {
	t.Parallel()
	asked := []mapping.Interrupt{{ID: "i", Value: asRaw(`"Which?"`)}}
	s := newScript(t, mapping.SteppingRun).start("run1").node("plan", "first")
	s.add(mapping.Event{Kind: mapping.KindState, Head: mapping.Head{Artifacts: []string{"a1"}, Next: []string{"x"}}})
	s.add(mapping.Event{Kind: mapping.KindInterrupt, Head: mapping.Head{Interrupts: asked}}).want("question", `1 interrupt "Which?" +a1`)
	s.end(mapping.Outcome{Status: mapping.RunInterrupted, Interrupts: asked}).start("run2").node("work", "second")
	s.add(mapping.Event{Kind: mapping.KindState, Head: mapping.Head{Artifacts: []string{"a2"}}, Data: asRaw(`{"set":{"messages":[{"type":"ai","content":"done"},{"type":"human","content":"x"}]}}`)})
	s.end(mapping.Outcome{Status: mapping.RunSuccess}).want("one step", `2  "done" +a2 last`)

	agent := newScript(t, mapping.SteppingRun).start("run1")
	for n := range 3 {
		ev := StepUpdate("run1", someTask, n+1, mapping.StepInfo{Output: asRaw(fmt.Sprintf(`"out %d"`, n)), Additional: asRaw(fmt.Sprintf(`{"n":%d}`, n)), SaysLast: n == 2}, nil, mapping.ApprovalAuto)
		ev.Head.Artifacts = []string{fmt.Sprint("a", n)}
		agent.add(ev)
	}
	agent.want("nothing before the end", "").end(mapping.Outcome{Status: mapping.RunSuccess}).want("one step", `1  "out 2" +a0 +a1 +a2 last`)
}

func TestReleaseHeld(t *testing.T) {
	t.Parallel()
	s := newScript(t, mapping.SteppingLockstep).start("run1")
	if s.folder.Release() != nil || s.folder.Held() != nil {
		t.Error("a step is held at the start")
	}
	s.node("plan", "first")
	if st := s.folder.Release(); st == nil || st.IsLast || st.N != 1 || st.Status != mapping.StepCompleted || s.folder.Count() != 1 {
		t.Errorf("released %+v", st)
	}
	s.end(mapping.Outcome{Status: mapping.RunSuccess}).want("there is always a last step", `2  "" last`)
}
