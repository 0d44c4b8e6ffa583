package rule

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/state"
)

// StepFolder folds the events of one task, over all its runs, into numbered steps, and decides when each may be handed
// out and which is the last:
//
//	a graph's step         | held until success makes it the last (endDone), or proof of more work
//	                       | (provesMore), a next step, another end or Release shows that it is not
//	a task/step agent's    | as the agent says (agentStep)
//	a question             | not the last
//	success without a last | one more step, with the newest answer, is the last (endDone)
//	failure, cancellation  | one more step, with the reason, is the last (end)
//
// In mode run only the end and questions become steps. If a follow-up run begins, the last step no longer counts as
// last (package stepping). Not safe for concurrent use. The zero value is not ready to use; call NewStepFolder.
type StepFolder struct {
	taskID string
	mode   mapping.Stepping
	count  int // steps released
	held   *mapping.Step
	run    runSteps
	told   map[string]bool   // ids of ai messages that were the output of some step
	before func(string) bool // reports whether a message existed at the beginning of the newest run; nil if none did
}

// runSteps is the state of one run.
type runSteps struct {
	id         string
	steps      int                // number of steps of this run
	asked      bool               // it asked a question
	ended      bool               // its newest step is the last
	artifacts  []mapping.Artifact // written since the newest step, or in mode run by the whole run
	additional json.RawMessage    // mode run with a task/step agent: additional output of its newest step
	skipped    json.RawMessage    // files that could not be compared at its end
}

// NewStepFolder returns a folder for a task in the given stepping mode.
func NewStepFolder(taskID string, mode mapping.Stepping) *StepFolder {
	return &StepFolder{taskID: taskID, mode: mode, told: map[string]bool{}}
}

// Fork returns an independent folder with the same events.
func (f *StepFolder) Fork() *StepFolder {
	other := *f
	other.told, other.run.artifacts = maps.Clone(f.told), slices.Clone(f.run.artifacts)
	if f.held != nil {
		held := *f.held
		held.Artifacts = slices.Clone(held.Artifacts)
		other.held = &held
	}
	return &other
}

// Add folds the next event of the task's runs, in order, and returns the steps it released, oldest first. Step.Input
// stays nil, because only the hand-out knows it. Step.Artifacts have only their IDs. The entry's folds may be nil;
// texts that only the state contains are then missing.
func (f *StepFolder) Add(e *state.Entry) []mapping.Step {
	f.collect(&e.Event)
	switch e.Kind {
	case mapping.KindStarted:
		return f.start(e)
	case mapping.KindUpdate:
		return f.update(e)
	case mapping.KindInterrupt:
		return f.interrupt(e)
	case mapping.KindEnd:
		return f.end(e)
	case mapping.KindState, mapping.KindChunk:
		if provesMore(&e.Event) {
			return f.release(nil)
		}
	}
	return nil
}

// provesMore reports whether an event at the root shows that another node runs or will run: a state with a next node,
// or a started task. A task chunk with a result, an error or a question is a task's end.
func provesMore(ev *mapping.Event) bool {
	if len(ev.Head.NS) > 0 {
		return false
	}
	if ev.Kind == mapping.KindState {
		return len(ev.Head.Next) > 0
	}
	if ev.Head.Name != "tasks" || rawjson.Kind(ev.Data) != '{' {
		return false
	}
	asked := rawjson.ElementsOf(rawjson.Get(ev.Data, "interrupts"))
	return rawjson.Get(ev.Data, "result") == nil && rawjson.Get(ev.Data, "error") == nil && len(asked) == 0
}

// Held returns the step that waits for proof of more work, or nil. It is listed as running.
func (f *StepFolder) Held() *mapping.Step {
	if f.held == nil {
		return nil
	}
	s := *f.held
	s.Status = mapping.StepRunning
	return &s
}

// Release releases the held step as not the last, because the caller knows that more work follows (a parked run). It
// returns nil if no step is held.
func (f *StepFolder) Release() *mapping.Step {
	if list := f.release(nil); len(list) > 0 {
		return &list[0]
	}
	return nil
}

// Count returns the number of steps released so far.
func (f *StepFolder) Count() int { return f.count }

func (f *StepFolder) start(e *state.Entry) []mapping.Step {
	out := f.release(nil)
	if e.RunID != f.run.id {
		f.run = runSteps{id: e.RunID, artifacts: f.run.artifacts}
	}
	if e.After != nil {
		f.before = e.After.HasMessage()
	}
	return out
}

// news reports whether an ai message is new: neither older than the run nor the output of an earlier step. A message
// without an id is always new.
func (f *StepFolder) news(id string) bool {
	if id == "" {
		return true
	}
	if f.told[id] || f.before != nil && f.before(id) {
		return false
	}
	f.told[id] = true
	return true
}

func (f *StepFolder) update(e *state.Entry) []mapping.Step {
	switch {
	case e.Head.Step != nil:
		return f.agentStep(e)
	case isEndUpdate(&e.Event):
		if skipped := skippedIn(&e.Event); skipped != nil {
			f.run.skipped = skipped
		}
		return nil
	case len(e.Head.NS) > 0 || e.Head.Node == "__start__":
		return nil
	}
	update := readUpdate(&e.Event)
	if update.empty() || f.mode == mapping.SteppingRun {
		return nil
	}
	s := f.next(e)
	s.Name = e.Head.Node
	s.Output = ref(update.text(f.news))
	s.AdditionalOutput = update.additional()
	return f.keepBack(s)
}

// agentStep handles a step of a task/step agent. The agent decides whether it is the last. StepUpdate never adds a
// question to a last step, so the check for one only matters for other backends.
func (f *StepFolder) agentStep(e *state.Entry) []mapping.Step {
	asks := len(e.Head.Interrupts) > 0
	f.run.asked = f.run.asked || asks
	output, additional := agentOutput(&e.Event)
	if f.mode == mapping.SteppingRun && !asks {
		f.run.additional = additional
		return nil
	}
	s := f.next(e)
	if s.Name = e.Head.Step.Name; s.Name == "" {
		s.Name = e.Head.Node
	}
	s.Output, s.AdditionalOutput = output, additional
	s.IsLast = e.Head.Step.SaysLast && !asks
	f.run.ended = s.IsLast
	return f.release(&s)
}

// interrupt handles a question of a thread/run agent, which is a separate step.
func (f *StepFolder) interrupt(e *state.Entry) []mapping.Step {
	f.run.asked = true
	return f.question(e, e.Head.Interrupts)
}

func (f *StepFolder) question(e *state.Entry, asked []mapping.Interrupt) []mapping.Step {
	s := f.next(e)
	s.Name = "interrupt"
	s.Output = ref(questionTexts(asked))
	if len(asked) > 0 {
		s.AdditionalOutput = rawObject("interrupt", InterruptList(asked))
	}
	return f.release(&s)
}

func (f *StepFolder) end(e *state.Entry) []mapping.Step {
	o := e.Head.Outcome
	switch {
	case o == nil || o.Parked:
		return f.release(nil)
	case o.Status == mapping.RunInterrupted && !o.Cancelled:
		return f.endWaiting(e, o)
	case o.Status == mapping.RunSuccess:
		return f.endDone(e)
	default:
		s := f.next(e)
		fault := endFault(o)
		s.Output = ref("Error: " + fault.Message)
		s.AdditionalOutput = faultOutput(fault, f.run.skipped)
		s.IsLast = true
		return f.release(&s)
	}
}

// endWaiting adds a step for questions that no event asked. A pause without a question is a step only if a client would
// otherwise wait forever.
func (f *StepFolder) endWaiting(e *state.Entry, o *mapping.Outcome) []mapping.Step {
	if !f.run.asked && (len(o.Interrupts) > 0 || f.run.steps == 0) {
		return f.question(e, o.Interrupts)
	}
	return f.release(nil)
}

func (f *StepFolder) endDone(e *state.Entry) []mapping.Step {
	if f.run.ended {
		return f.release(nil)
	}
	if f.held != nil {
		f.held.IsLast = true
		f.held.Artifacts = append(f.held.Artifacts, f.run.artifacts...)
		f.run.artifacts, f.run.ended = nil, true
		return f.release(nil)
	}
	s := f.next(e)
	s.Output = ref(lastAnswer(e.After))
	s.AdditionalOutput = f.run.additional
	s.IsLast, f.run.ended = true, true
	return f.release(&s)
}

// next returns the step after the held one, with the artifacts written so far.
func (f *StepFolder) next(e *state.Entry) mapping.Step {
	n := f.count + 1
	if f.held != nil {
		n++
	}
	s := mapping.Step{
		ID: mapping.StepID(f.taskID, n), TaskID: f.taskID, RunID: e.RunID, N: n,
		Status: mapping.StepCompleted, CreatedAt: e.At, Artifacts: f.run.artifacts,
	}
	f.run.artifacts = nil
	f.run.steps++
	return s
}

// keepBack releases the held step, because s shows that more work followed, and holds s.
func (f *StepFolder) keepBack(s mapping.Step) []mapping.Step {
	out := f.release(nil)
	f.held = &s
	return out
}

// release releases the held step, followed by s.
func (f *StepFolder) release(s *mapping.Step) []mapping.Step {
	var out []mapping.Step
	if f.held != nil {
		out = append(out, *f.held)
		f.held = nil
	}
	if s != nil {
		out = append(out, *s)
	}
	f.count += len(out)
	return out
}

// collect records the artifacts of an event. They belong to the held step if there is one, or else to the next one.
func (f *StepFolder) collect(ev *mapping.Event) {
	into := &f.run.artifacts
	if f.held != nil && (ev.Kind == mapping.KindState || ev.Kind == mapping.KindChunk) {
		into = &f.held.Artifacts
	}
	for _, id := range ev.Head.Artifacts {
		if !slices.ContainsFunc(*into, func(a mapping.Artifact) bool { return a.ID == id }) {
			*into = append(*into, mapping.Artifact{ID: id})
		}
	}
}

func ref(s string) *string { return &s }
