package backend

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping"
)

// finish is called when a stream closed as it should. Closing alone proves
// nothing: a proxy closes so, and the server says no end. The state tells; in
// doubt the run itself is asked. nil: the run goes on.
func (s *session) finish() error {
	st, err := s.state()
	if err != nil {
		return err
	}
	settled, err := s.settled(st)
	if err != nil || !settled {
		return err
	}
	return s.end(st)
}

// settled tells whether the run has ended without error.
func (s *session) settled(st stateWire) (bool, error) {
	var meta checkpointMeta
	_ = json.Unmarshal(st.Metadata, &meta)
	if meta.RunID != "" && meta.RunID == s.link.RemoteRun && (len(st.Next) == 0 || s.paused || len(questions(st)) > 0) {
		return true, nil
	}
	run, err := s.upstreamRun()
	if err != nil {
		return false, err
	}
	switch run.Status {
	case "pending", "running":
		return false, nil
	case "error":
		return false, s.failed(errorWire{Message: orElse(run.Error, run.OldError)})
	case "timeout":
		return false, mapping.Errorf(mapping.Timeout, mapping.CodeRunTimeout, "Agent %q ended the run for taking too long.", s.b.up.Name)
	case "interrupted", "cancelled":
		s.cancelled = len(questions(st)) == 0 && !s.paused
	case "success":
	default:
		return false, s.oddEnd(run.Status)
	}
	return true, nil
}

// oddEnd is the error of a run whose status has no meaning here and whose state shows no end.
func (s *session) oddEnd(status string) error {
	return mapping.Errorf(mapping.Upstream, mapping.CodeOutcomeUnknown, "Agent %q closed the stream of the run and gives it the status %q, "+
		"which says nothing of how it ended, and its state shows no end. Look what the agent has done, then start a new run.",
		s.b.up.Name, s.b.http.to.Redact(status[:min(len(status), 40)]))
}

func (s *session) upstreamRun() (runWire, error) {
	var run runWire
	if s.link.RemoteRun == "" {
		return run, s.unknown(orSilent(nil))
	}
	path := runPath(s.link.Remote, s.link.RemoteRun)
	err := s.b.http.getJSON(s.ctx, path, &run)
	switch {
	case upstream.Status(err) == http.StatusNotFound:
		return run, s.lost("run")
	case err == nil && run.Status == "":
		err = s.b.http.bad(http.MethodGet, path, "field status is missing")
	}
	return run, err
}

// end says how the run ended and how far both sides agree. In lockstep a step
// without any output is none: the next one is asked for at once.
func (s *session) end(st stateWire) error {
	open := questions(st)
	if s.t.OneStep && len(open) == 0 && len(st.Next) > 0 && !s.cancelled && s.outputs == 0 {
		return s.goFurther()
	}
	if err := s.settleState(st); err != nil {
		return err
	}
	if err := s.tellHeld(slices.Clone(open)); err != nil {
		return err
	}
	s.link.RemoteCheckpoint, s.link.RemoteMark = st.head(), ""
	if err := s.emitLink(); err != nil {
		return err
	}
	out := s.outcome(st, open)
	if err := s.emit(mapping.Event{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &out}}); err != nil {
		return err
	}
	return errEnded
}

// settleState yields the state as it was read, where the frames may have told
// less: a server without checkpoints frames, one that stopped at a node (it
// does not tell the checkpoint there), or a stream that broke off.
func (s *session) settleState(st stateWire) error {
	var meta checkpointMeta
	_ = json.Unmarshal(st.Metadata, &meta)
	switch {
	case s.checkpoints == 0, meta.Step != s.step:
		return s.emit(s.stateEvent(st, ""))
	case s.rejoined:
		return s.emit(mapping.Event{Kind: mapping.KindState, Head: mapping.Head{Full: true}, Data: st.Values})
	}
	return nil
}

func (s *session) goFurther() error {
	if s.empty++; s.empty > s.maxSteps() {
		return mapping.Errorf(mapping.Upstream, mapping.CodeStepLimit,
			"Agent %q made %d steps without any output; max_steps is %d.", s.b.up.Name, s.empty, s.maxSteps())
	}
	s.forget()
	s.t.Say, s.t.Update = nil, nil
	return errGoOn
}

func (s *session) outcome(st stateWire, open []mapping.Interrupt) mapping.Outcome {
	switch {
	case s.cancelled:
		return mapping.Outcome{Status: mapping.RunInterrupted, Cancelled: true}
	case len(open) > 0:
		return mapping.Outcome{Status: mapping.RunInterrupted, Interrupts: open}
	case len(st.Next) > 0 && s.t.OneStep:
		return mapping.Outcome{Parked: true}
	case len(st.Next) > 0:
		return mapping.Outcome{Status: mapping.RunInterrupted}
	}
	return mapping.Outcome{Status: mapping.RunSuccess}
}

// tellHeld yields what was held back, and then the questions of the state that no frame of the
// root has asked, as those of a subgraph.
func (s *session) tellHeld(open []mapping.Interrupt) error {
	asked := map[string]bool{}
	for _, in := range s.asked {
		asked[in.ID] = true
	}
	rest := slices.DeleteFunc(open, func(in mapping.Interrupt) bool { return asked[in.ID] })
	if len(rest) > 0 {
		s.hold(mapping.Event{Kind: mapping.KindInterrupt, Head: mapping.Head{Interrupts: rest}})
	}
	for _, ev := range s.held {
		if err := s.emit(ev); err != nil {
			return err
		}
	}
	s.held = nil
	return nil
}

// questions are the open questions of a state, with the state tasks that ask.
func questions(st stateWire) []mapping.Interrupt {
	var tasks []taskWire
	if json.Unmarshal(st.Tasks, &tasks) != nil {
		return nil
	}
	var list []mapping.Interrupt
	for _, t := range tasks {
		for _, w := range t.Interrupts {
			list = append(list, mapping.Interrupt{ID: orElse(w.ID, w.OldID), Value: orNull(w.Value), Task: t.ID, NS: w.NS, When: w.When})
		}
	}
	return list
}

// failed is the error of a run that ended in error upstream. What the agent's
// thread holds by then is noted first, so that the next run can go on there.
func (s *session) failed(e errorWire) error {
	if s.target.plain {
		return s.agentError(e)
	}
	if err := s.noteState(); err != nil {
		return err
	}
	if err := s.tellHeld(nil); err != nil {
		return err
	}
	return s.agentError(e)
}

func (s *session) agentError(e errorWire) error {
	code := mapping.CodeUpstreamError
	if strings.Contains(e.Error, "GraphRecursionError") || strings.Contains(e.Message, "GraphRecursionError") {
		code = mapping.CodeStepLimit
	}
	return &mapping.Error{Class: mapping.Upstream, Code: code, Message: s.complaint(e), Detail: detail(e)}
}

// noteState is best effort: what cannot be read is seeded again by the next run.
func (s *session) noteState() error {
	st, err := s.state()
	if err != nil {
		return nil
	}
	if err := s.settleState(st); err != nil {
		return err
	}
	s.link.RemoteCheckpoint = st.head()
	return s.emitLink()
}

func (s *session) complaint(e errorWire) string {
	text := s.b.http.to.Redact(orElse(e.Message, e.Error))
	if text == "" {
		return fmt.Sprintf("Agent %q ended the run in error and did not say why.", s.b.up.Name)
	}
	const longest = 4000
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return text
}

func detail(e errorWire) any {
	if e.Error == "" {
		return nil
	}
	return map[string]string{"error": e.Error}
}
