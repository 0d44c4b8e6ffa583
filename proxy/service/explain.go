package service

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
)

func (s *Service) ExplainRun(ctx context.Context, ref adapter.RunRef) (adapter.Explanation, error) {
	st, err := s.store.Runs.Standing(ctx, ref.ThreadID, ref.RunID)
	if err != nil {
		return adapter.Explanation{}, err
	}
	e := adapter.Explanation{RunID: st.Run.ID, ThreadID: st.Run.ThreadID, Agent: st.Run.Agent, Status: st.Run.Status}
	switch st.Run.Status {
	case mapping.RunPending:
		s.explainPending(&e, st)
	case mapping.RunRunning:
		s.explainRunning(&e, st)
	default:
		if err = explainEnded(&e, st); err == nil && st.Run.Options.Webhook != "" {
			e.Webhook, err = s.webhookState(ctx, st.Run.ID)
		}
	}
	return e, err
}

// webhookState returns nil if the delivery is no longer stored.
func (s *Service) webhookState(ctx context.Context, runID string) (*adapter.WebhookState, error) {
	list, err := s.store.Deliveries.List(ctx, runID, 0)
	i := slices.IndexFunc(list, func(d store.Delivery) bool { return d.Hook == "" })
	if err != nil || i < 0 {
		return nil, err
	}
	d := list[i]
	w := &adapter.WebhookState{State: "waiting", Attempts: d.Attempts, Error: d.Error}
	switch {
	case d.Dead():
		w.State, w.Done = "given_up", &d.Done
	case !d.Done.IsZero():
		w.State, w.Done = "delivered", &d.Done
	default:
		w.Next = &d.Due
	}
	return w, nil
}

// explainPending checks the time first, then earlier runs on the thread, then an update of the thread's state, then the
// agent.
func (s *Service) explainPending(e *adapter.Explanation, st store.RunSummary) {
	used, slots := s.slotsOf(st.Run.Agent)
	wait := st.Run.RunAfter.Sub(st.Now)
	makesRoom := st.Run.Multitask == mapping.StrategyRollback && st.Ahead > 0
	switch {
	case wait > 0 && !makesRoom:
		e.Reason, e.Delayed = adapter.ReasonDelayed, &adapter.DelayedReason{Due: st.Run.RunAfter, AfterSeconds: wait.Seconds()}
		e.Message = fmt.Sprintf("It is scheduled to start in %s.", mapping.Span(wait))
	case st.Ahead > 0:
		e.Reason, e.Queue = adapter.ReasonQueue, &adapter.QueueReason{Place: st.Ahead, Before: queued(st.Before)}
		first := fmt.Sprintf("run %s (%s)", st.Before[0].ID, st.Before[0].Status)
		e.Message = fmt.Sprintf("%d runs come before it on its thread, starting with %s.", st.Ahead, first)
		if st.Ahead == 1 {
			e.Message = fmt.Sprintf("It starts on its thread after %s.", first)
		}
	case st.Update != "":
		e.Reason, e.Update = adapter.ReasonUpdate, &adapter.UpdateReason{Owner: st.Update, Here: st.Update == st.Owner}
		e.Message = "An update of its thread's state is being sent to an agent. The run starts once the agent has answered or the lease of the bridge that sends it has expired."
	case used >= slots:
		name := "agents." + st.Run.Agent + ".concurrency"
		e.Reason, e.Limit = adapter.ReasonLimit, &adapter.LimitReason{Name: name, Value: slots, Used: used, Place: st.Earlier + 1}
		next := "This run starts next."
		switch {
		case st.Earlier == 1:
			next = "1 other run starts first."
		case st.Earlier > 1:
			next = fmt.Sprintf("%d other runs start first.", st.Earlier)
		}
		e.Message = fmt.Sprintf("Agent %s has no free place (%s: %d). %s", st.Run.Agent, name, slots, next)
	default:
		e.Reason, e.Message = adapter.ReasonStarting, "Nothing blocks it; a bridge is about to start it."
	}
}

func (s *Service) slotsOf(agent string) (used, slots int) {
	if a, ok := s.engine.Agent(agent); ok {
		return a.Slots()
	}
	return 0, 1
}

func queued(list []mapping.Run) []adapter.QueuedRun {
	out := make([]adapter.QueuedRun, len(list))
	for i, r := range list {
		out[i] = adapter.QueuedRun{RunID: r.ID, Status: r.Status, Parked: r.Parked}
	}
	return out
}

func (s *Service) explainRunning(e *adapter.Explanation, st store.RunSummary) {
	if st.Run.Parked {
		p := &adapter.ParkedReason{Step: st.Steps + 1, Since: st.Run.UpdatedAt}
		if a, ok := s.engine.Agent(st.Run.Agent); ok {
			p.Until = p.Since.Add(a.Config.Stepping.Idle)
		}
		e.Reason, e.Parked = adapter.ReasonParked, p
		e.Message = fmt.Sprintf("It is waiting for a client to request step %d.", p.Step)
		return
	}
	e.Lease = &adapter.LeaseReason{Owner: st.Holder, Here: st.Here}
	if !st.Until.IsZero() {
		e.Lease.Until = &st.Until
	}
	if st.Holder == "" || !st.Until.IsZero() && !st.Until.After(st.Now) {
		e.Reason, e.Message = adapter.ReasonLease, "The bridge that executed it is gone or not responding. Another one will take it over."
		return
	}
	up := &adapter.UpstreamReason{Step: st.Steps + 1, Since: st.Last.At, Attempt: st.Run.Attempt}
	e.Reason, e.Upstream = adapter.ReasonUpstream, up
	if st.Last.Head.Waiting {
		e.Message = fmt.Sprintf("It is waiting for agent %s, which is waiting for something outside the conversation, such as an authorization by a person.", st.Run.Agent)
		return
	}
	e.Message = fmt.Sprintf("It is waiting for agent %s to send step %d.", st.Run.Agent, up.Step)
	if quiet := st.Now.Sub(up.Since); quiet >= time.Second {
		e.Message = fmt.Sprintf("It is waiting for agent %s, which has sent nothing for step %d in the last %s.", st.Run.Agent, up.Step, mapping.Span(quiet))
	}
}

func explainEnded(e *adapter.Explanation, st store.RunSummary) (err error) {
	if open, ok := unanswered(st); ok {
		e.Reason, e.Question = adapter.ReasonQuestion, &adapter.QuestionReason{Interrupts: open, Since: st.Run.EndedAt}
		e.Message = "It is waiting for an answer. Start a run with the answer on its thread, or request the next step of its task."
		return nil
	}
	e.Reason, e.Finished = adapter.ReasonFinished, &adapter.FinishedReason{EndedAt: st.Run.EndedAt}
	e.Message = fmt.Sprintf("It has ended with status %s.", st.Run.Status)
	if o := st.Last.Head.Outcome; o != nil && o.Status == mapping.RunInterrupted && !o.Cancelled && len(o.Interrupts) > 0 {
		e.Message = "It asked a question, which is no longer open."
	}
	if f := st.Run.Fault; f != nil {
		e.Message += " " + f.Message
		e.Finished.Error, err = json.Marshal(map[string]string{"code": f.Code, "message": f.Message})
	}
	return err
}

// unanswered returns the open questions of a run. A run that was stopped before or after a node has no question but
// still waits.
func unanswered(st store.RunSummary) ([]mapping.Interrupt, bool) {
	o := st.Last.Head.Outcome
	if o == nil || o.Status != mapping.RunInterrupted || o.Cancelled {
		return nil, false
	}
	if len(o.Interrupts) > 0 {
		open := slices.DeleteFunc(slices.Clone(o.Interrupts), func(q mapping.Interrupt) bool { return !asks(st, q.ID) })
		return open, len(open) > 0
	}
	return []mapping.Interrupt{}, len(st.Thread.Interrupts) == 0 && st.Thread.Status == mapping.ThreadInterrupted
}

// asks reports whether a question of the run is open. A later run may have asked a question with the same id.
func asks(st store.RunSummary, question string) bool {
	return slices.ContainsFunc(st.Thread.Interrupts, func(q mapping.Interrupt) bool { return q.ID == question && q.Run == st.Run.ID })
}
