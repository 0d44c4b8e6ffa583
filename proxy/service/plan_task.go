package service

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/store"
)

// CodeTaskEnded is the code of the error for a run of a task that has ended.
const CodeTaskEnded = "task_ended"

// namedTask is the task that a request names.
type namedTask struct {
	mapping.Task
	newest mapping.Run // zero if there is no run yet
}

// findNamedTask reads the task that the request names and sets the request's thread and agent if they are missing. It
// returns nil if the request names no task, and refuses a task that has ended.
func (s *Service) findNamedTask(ctx context.Context, n *adapter.RunRequest) (*namedTask, error) {
	if n.TaskID == "" {
		return nil, nil
	}
	task, err := s.store.Tasks.Get(ctx, n.TaskID)
	if err != nil {
		return nil, err
	}
	if n.ThreadID != "" && n.ThreadID != task.ThreadID {
		return nil, mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "Task %q belongs to thread %s, not to %s.", task.ID, task.ThreadID, n.ThreadID)
	}
	if n.ThreadName != "" && n.ThreadName != task.ThreadName {
		return nil, mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "Task %q does not belong to a thread named %q.", task.ID, n.ThreadName)
	}
	n.ThreadName, n.ThreadID, n.Agent = "", task.ThreadID, cmp.Or(n.Agent, task.Agent)
	last, err := s.store.Runs.List(ctx, mapping.RunQuery{ThreadID: task.ThreadID, TaskID: task.ID, Limit: 1})
	if err != nil {
		return nil, err
	}
	named := &namedTask{task, *firstRun(last)}
	if task.Status.Ended() {
		err = mapping.Errorf(mapping.Conflict, CodeTaskEnded, "Task %q has ended. Start a new one on thread %s.", task.ID, task.ThreadID)
	}
	return named, err
}

// resumeTarget returns the run to which an answer belongs. If the request names a task, that is the task's newest run.
// Otherwise it is the agent's newest run that asked the questions named in the answer, or any open question if the
// answer names none. If there is no such run, it is the agent's newest run.
func (p *runPlan) resumeTarget(ctx context.Context) (*mapping.Run, error) {
	if p.named != nil {
		return &p.named.newest, nil
	}
	askers, err := p.askers(ctx, answeredBy(p.out.Run.Options.Resume, p.thread.Interrupts))
	if err != nil || len(askers) > 0 {
		return firstRun(askers), err
	}
	last, err := p.s.store.Runs.List(ctx, mapping.RunQuery{ThreadID: p.out.Run.ThreadID, Agent: p.out.Run.Agent, Limit: 1})
	return firstRun(last), err
}

// firstRun returns the first run, or the zero run if the list is empty.
func firstRun(list []mapping.Run) *mapping.Run {
	if len(list) > 0 {
		return &list[0]
	}
	return &mapping.Run{}
}

// askers returns the agent's runs that asked some of the questions, the last one to ask first.
func (p *runPlan) askers(ctx context.Context, questions []mapping.Interrupt) (list []mapping.Run, err error) {
	for _, q := range slices.Backward(questions) {
		known := func(r mapping.Run) bool { return r.ID == q.Run }
		if slices.ContainsFunc(list, known) {
			continue
		}
		r, err := p.s.store.Runs.Get(ctx, p.thread.ID, q.Run)
		if err != nil && !notFound(err) { // not found: it was rolled back
			return nil, err
		}
		if err == nil && r.Agent == p.out.Run.Agent {
			list = append(list, *r)
		}
	}
	return list, nil
}

// questionsOf returns the open questions of a run.
func (p *runPlan) questionsOf(r *mapping.Run) []mapping.Interrupt {
	return slices.DeleteFunc(slices.Clone(p.thread.Interrupts), func(q mapping.Interrupt) bool { return q.Run != r.ID })
}

// checkOneAsker refuses an answer to questions of several runs, since no run could accept it. It also refuses an answer
// that names no question if several runs of the agent wait.
func (p *runPlan) checkOneAsker(ctx context.Context, own []mapping.Interrupt) error {
	open, answer := p.thread.Interrupts, p.out.Run.Options.Resume
	named := rule.Named(answer, open)
	if len(named) == 0 {
		askers, err := p.askers(ctx, open)
		if err == nil && len(askers) > 1 {
			err = rule.WhichQuestion(open)
		}
		return err
	}
	others := without(named, own)
	if len(own) == 0 || len(others) == 0 {
		return nil
	}
	return rule.OtherAskers(others, open)
}

// checkAwaited refuses an answer if the thread does not wait for one. A run that was stopped before or after a node
// waits although it has no question. A cancelled run does not wait.
func (p *runPlan) checkAwaited(ctx context.Context, last *mapping.Run, own []mapping.Interrupt) error {
	open := p.thread.Interrupts
	switch {
	case last.ID == "":
	case last.Options.Resuming && (last.Status == mapping.RunRunning || last.Status == mapping.RunPending && !p.displaces()):
		open = without(open, answeredBy(last.Options.Resume, open))
	case len(own) > 0:
		return nil
	case last.Status == mapping.RunInterrupted:
		if dropped, err := p.isDropped(ctx, last); err != nil {
			return err
		} else if dropped {
			break
		}
		st, err := p.s.store.Runs.Standing(ctx, last.ThreadID, last.ID)
		if notFound(err) {
			break // it was rolled back
		}
		if o := st.Last.Head.Outcome; err != nil || o == nil || !o.Cancelled {
			return err
		}
	}
	return rule.NothingToResume(p.out.Run.ThreadID, open)
}

// isDropped reports whether a later run has dropped the question of a task that the request names.
func (p *runPlan) isDropped(ctx context.Context, last *mapping.Run) (bool, error) {
	if p.named == nil {
		return false, nil
	}
	newest, err := p.s.store.Runs.List(ctx, mapping.RunQuery{ThreadID: p.out.Run.ThreadID, Agent: p.out.Run.Agent, Limit: 1})
	return firstRun(newest).ID != last.ID, err
}

// displaces reports whether the run stops the thread's active run first.
func (p *runPlan) displaces() bool {
	s := p.out.Run.Multitask
	return s == mapping.StrategyInterrupt || s == mapping.StrategyRollback
}

func (p *runPlan) checkAnswer() error {
	o := &p.out.Run.Options
	if p.traits.Exposes.ReportsState() {
		if err := rule.CheckAnswer(o.Resume, o.Asked); err != nil {
			return err
		}
		return rule.CheckSchemas(o)
	}
	if o.Verbatim {
		return nil // the agent knows what it asked
	}
	return rule.CheckStepAnswer(o)
}

// answeredBy returns the open questions named by id in an answer, or all of them if it names none.
func answeredBy(answer json.RawMessage, open []mapping.Interrupt) []mapping.Interrupt {
	if named := rule.Named(answer, open); len(named) > 0 {
		return named
	}
	return open
}

func without(list, some []mapping.Interrupt) []mapping.Interrupt {
	return slices.DeleteFunc(slices.Clone(list), func(q mapping.Interrupt) bool { return has(some, q.ID) })
}

func has(list []mapping.Interrupt, id string) bool {
	return slices.ContainsFunc(list, func(q mapping.Interrupt) bool { return q.ID == id })
}

// resolveTask determines the run's task: a resume keeps the task of the question, a run that names a task continues it,
// and any other run begins a new one.
func (p *runPlan) resolveTask(ctx context.Context) error {
	o := &p.out.Run.Options
	switch {
	case p.req.OnlyAnswers && !o.Resuming: // the question may have been answered since the face looked
		return rule.NothingToResume(p.out.Run.ThreadID, p.thread.Interrupts)
	case p.task != nil && o.Resuming:
		return p.answerTask()
	case p.task != nil:
		return nil
	case !p.traits.Exposes.ReportsState() && o.Goto != nil:
		return p.dropQuestion(ctx)
	case o.Resuming:
		return p.answerQuestion(ctx)
	}
	p.beginTask()
	return nil
}

// answerTask makes the run answer the question of its task.
func (p *runPlan) answerTask() error {
	p.out.Answers.Run = p.task.AskedBy.ID
	p.setResumed(&p.task.AskedBy)
	return p.checkAnswer()
}

// answerQuestion makes the run answer an open question of the thread, in the task that asked it.
func (p *runPlan) answerQuestion(ctx context.Context) error {
	o := &p.out.Run.Options
	last, err := p.resumeTarget(ctx)
	if err != nil {
		return err
	}
	own := p.questionsOf(last)
	if err := p.checkOneAsker(ctx, own); err != nil {
		return err
	}
	if err := p.checkAwaited(ctx, last, own); err != nil {
		return err
	}
	p.out.Run.TaskID, o.Asked, o.FollowUp = last.TaskID, own, false
	p.setResumed(last)
	p.out.Answers = store.Answers{Run: last.ID, Open: answeredBy(o.Resume, o.Asked)}
	if p.req.StrictResume {
		if err := rule.CheckStrictly(o.Resume, o.Asked); err != nil {
			return err
		}
	}
	return p.checkAnswer()
}

// setResumed records the trace of the answered run, and whether the agent receives the answer as it was sent. The
// answer's own trace is that of its request.
func (p *runPlan) setResumed(asked *mapping.Run) {
	p.out.Run.Options.Verbatim = p.traits.TakesExtras
	if at := asked.Span(); at.Parent != "" {
		p.out.Run.Options.Resumes = &at
	}
}

// dropQuestion plans a run that drops the open question, as the last run of the task that asked. Without a question the
// run does nothing. The agent is not called in either case, so no input is allowed.
func (p *runPlan) dropQuestion(ctx context.Context) error {
	if len(p.in.Messages)+len(p.in.Files) > 0 {
		return refuse("input is not supported together with command.goto %q, which ends the task without a step. Send the input in a separate run.", rule.EndNode)
	}
	last, err := p.resumeTarget(ctx)
	open := p.questionsOf(last)
	if err != nil || len(open) == 0 || last.Status != mapping.RunInterrupted {
		p.beginTask()
		return err
	}
	p.out.Run.TaskID = last.TaskID
	p.out.Answers = store.Answers{Run: last.ID, Open: open}
	return nil
}

// beginTask makes the run begin a new task, or continue the one named in the request.
func (p *runPlan) beginTask() {
	r := &p.out.Run
	if p.named != nil {
		newest := p.named.newest
		r.TaskID = p.named.ID
		p.out.Newest, p.out.NewestActive = &newest.ID, newest.Status.Active()
		return
	}
	p.out.Task = &mapping.Task{
		Tenant: r.Tenant, Owner: r.Owner, ID: r.ID, ThreadID: r.ThreadID, Agent: r.Agent, Input: p.in.Text, HasInput: p.in.HasText,
		AdditionalInput: json.RawMessage("{}"), CreatedAt: p.now, UpdatedAt: p.now,
	}
}

// messageAsAnswer turns an input into an answer if an opaque agent waits for one, since most chat pages have only one
// input field. The text answers a question that the agent asks its user (agents.NAME.answer_by_message), or any open
// question if the request has InputAnswers or OnlyAnswers. A file without text is referred to by its name. Without
// input, the run continues after a stop requested by the client, as in LangGraph.
func (p *runPlan) messageAsAnswer(ctx context.Context) error {
	if !p.mayAnswer() {
		return nil
	}
	last, err := p.resumeTarget(ctx)
	if err != nil || last.Status != mapping.RunInterrupted {
		return err
	}
	open := p.questionsOf(last)
	if len(open) == 0 { // another agent asked
		return nil
	}
	o := &p.out.Run.Options
	if !p.req.HasInput {
		if p.traits.TakesExtras {
			return mapping.Invalidf("Agent %s waits for an answer. Send input or command.resume.", p.agent.Name)
		}
		o.Resuming, o.Resume = true, passing(last, open)
		return nil
	}
	asked := len(open) == 1 && rule.IsAskUser(open[0]) && p.agent.Config.AnswerByMessage != "never"
	words := p.in.Words()
	if p.req.OnlyAnswers || words != "" && (asked || p.req.InputAnswers) {
		o.Resuming, o.ByMessage, o.Resume = true, true, rawjson.Quote(words)
	}
	return nil
}

// mayAnswer reports whether an input may answer an open question of the thread. It must not be for another state,
// delayed, from a cron, or for a new task.
func (p *runPlan) mayAnswer() bool {
	o := &p.out.Run.Options
	return !p.traits.Exposes.ReportsState() && len(p.thread.Interrupts) > 0 && !o.Resuming && o.Goto == nil && p.task == nil &&
		o.Checkpoint == "" && p.req.RunAfter == 0 && !p.req.ByClock && !p.req.NewTask
}

// passing returns the answer of a run without input: approval if the client requested the stop, and otherwise null,
// which is refused.
func passing(last *mapping.Run, open []mapping.Interrupt) json.RawMessage {
	own := len(last.Options.InterruptBefore)+len(last.Options.InterruptAfter) > 0
	if own && len(open) == 1 && !rule.IsAskUser(open[0]) {
		return json.RawMessage("true")
	}
	return json.RawMessage("null")
}
