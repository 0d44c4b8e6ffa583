package service

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/webhook"
)

// readOptions converts the request's options to those of the run. It refuses options that the agent does not support,
// and names them.
func (p *runPlan) readOptions(ctx context.Context) error {
	n := p.req
	p.out.Run.Options = mapping.RunOptions{
		StreamModes: n.StreamModes, Subgraphs: n.Subgraphs, Config: n.Config, Context: n.Context,
		InterruptBefore: n.InterruptBefore, InterruptAfter: n.InterruptAfter, Temporary: n.Temporary, DeleteAfter: n.DeleteAfter,
		Webhook: n.Webhook, Repeats: n.Repeats, Retries: p.retries(), RetryUnknown: n.RetriesSet && n.Retries > 0,
		Losses: p.s.dialects.UnsupportedFields(n.Flavour, n.Fields, p.traits.Capabilities), MayOverlap: p.agent.Config.AllowConcurrent,
	}
	p.addUnsupported(n.Means...)
	for _, check := range []func(context.Context) error{p.limitSteps, p.checkWebhook, p.checkHooks, p.readCommand, p.readApproval, p.readCheckpoint, p.checkStrategy} {
		if err := check(ctx); err != nil {
			return err
		}
	}
	return nil
}

// retries returns the number in the request, or that of the agent's configuration.
func (p *runPlan) retries() int {
	if p.req.RetriesSet {
		return p.req.Retries
	}
	return p.agent.Config.Retries
}

// checkWebhook refuses a webhook that could never be called.
func (p *runPlan) checkWebhook(context.Context) error {
	if p.req.Webhook == "" {
		return nil
	}
	return webhook.CheckTarget(p.req.Webhook, p.cfg.Webhooks)
}

func (p *runPlan) readCommand(context.Context) error {
	c, o := p.req.Command, &p.out.Run.Options
	if c == nil {
		return p.answerParent()
	}
	if err := p.readGoto(); err != nil {
		return err
	}
	if len(c.Update) > 0 && string(c.Update) != "null" {
		if !p.traits.Exposes.ReportsState() {
			return refuse("command.update is not supported by %s. Change the thread's state first, with POST /threads/{thread_id}/state.", p.traits.Kind)
		}
		o.Update = c.Update
	}
	if err := rule.CheckFileCount(rule.CountFiles(c.Update), p.cfg.Limits.MaxFilesPerRequest); err != nil {
		return err
	}
	o.Resuming = c.HasResume
	if rawjson.IsNull(c.Resume) && (o.Goto != nil || o.Update != nil) || !p.traits.Exposes.ReportsState() && o.Goto != nil {
		o.Resuming = false // RemoteGraph for Python sends all members, with null for unused ones
	}
	if o.Resuming {
		o.Resume = c.Resume
		if o.Resume == nil {
			o.Resume = json.RawMessage("null")
		}
	}
	return nil
}

// readGoto reads the node that the command jumps to. An opaque agent is presented as a graph of one node, so it only
// accepts the end, which drops the open question.
func (p *runPlan) readGoto() error {
	c, o := p.req.Command, &p.out.Run.Options
	if rawjson.IsNull(c.Goto) {
		return nil
	}
	if !p.traits.Exposes.ReportsState() && !rule.IsEnd(c.Goto) {
		return refuse("command.goto is not supported by %s, which exposes no nodes, except for %q. Send input or command.resume.",
			p.traits.Kind, rule.EndNode)
	}
	if !p.traits.Exposes.ReportsState() && !rule.AnswersNothing(c.Resume) {
		return refuse("command.goto %q drops the question that command.resume answers. Send only one of them.", rule.EndNode)
	}
	o.Goto = c.Goto
	return nil
}

// readApproval converts the nodes at which a run should stop to an approval mode if the agent has no nodes.
func (p *runPlan) readApproval(context.Context) error {
	o := &p.out.Run.Options
	o.Approval = mapping.Approval(p.agent.Config.Approval)
	if !p.known || p.traits.Exposes.ReportsState() {
		return nil
	}
	for _, name := range o.InterruptBefore {
		if name != "*" && name != "tools" {
			return refuse("interrupt_before names node %q, but agent %s exposes no nodes. Use \"*\" or [\"tools\"] to approve every proposed command.",
				name, p.agent.Name)
		}
		o.Approval = mapping.ApprovalAsk
	}
	for _, name := range o.InterruptAfter {
		if name != "*" {
			return refuse("interrupt_after names node %q, but agent %s exposes no nodes. Use \"*\" to stop after every step.", name, p.agent.Name)
		}
		o.Approval = mapping.ApprovalStep
	}
	return nil
}

// readCheckpoint ignores the head and records an older checkpoint as a fork.
func (p *runPlan) readCheckpoint(ctx context.Context) error {
	id := p.req.CheckpointID
	if id == "" || id == p.thread.Head {
		return nil
	}
	if p.out.Thread != nil { // the thread is created with the run
		return mapping.Errorf(mapping.NotFound, mapping.CodeCheckpointNotFound, "There is no checkpoint %q: the run's thread is new.", id)
	}
	if _, err := p.s.store.States.At(ctx, p.out.Run.ThreadID, id); err != nil {
		return err
	}
	p.out.Run.Options.Checkpoint = id
	return nil
}

func (p *runPlan) checkStrategy(context.Context) error {
	switch m := p.out.Run.Multitask; m {
	case mapping.StrategyReject, mapping.StrategyEnqueue, mapping.StrategyInterrupt, mapping.StrategyRollback:
		return nil
	case mapping.StrategyConcurrent:
		return p.checkConcurrent()
	default:
		return p.refuseStrategy("multitask_strategy %q is not supported. Use reject, enqueue, interrupt or rollback.", m)
	}
}

func (p *runPlan) refuseStrategy(format string, args ...any) error {
	e := mapping.Errorf(mapping.Invalid, mapping.CodeNotSupported, format, args...)
	e.Detail = mapping.BadStrategy{Strategy: p.out.Run.Multitask}
	return e
}

// checkConcurrent refuses a concurrent run if its agent's configuration does not allow it, or if it would move the head
// into which other runs merge their changes.
func (p *runPlan) checkConcurrent() error {
	if !p.agent.Config.AllowConcurrent {
		return p.refuseStrategy("multitask_strategy concurrent is disabled for agent %s (agents.%s.allow_concurrent in the bridge's configuration). Use reject, enqueue, interrupt or rollback.",
			p.agent.Name, p.agent.Name)
	}
	if p.out.Run.Options.Checkpoint != "" {
		return p.refuseStrategy("multitask_strategy concurrent merges into the newest state, so such a run cannot begin at an older checkpoint. Use another strategy, or copy the thread.")
	}
	return nil
}

// limitSteps sets the smallest of the limits of the request, its assistant and the agent's configuration. If that is
// less than the request's recursion limit, the limit is reported as unsupported.
func (p *runPlan) limitSteps(context.Context) error {
	o := &p.out.Run.Options
	configured, by := p.agent.Config.MaxSteps, mapping.LimitedByConfig
	if configured == 0 {
		configured, by = p.traits.MaxSteps, mapping.LimitedByDefault
	}
	for _, limit := range []struct {
		most int
		by   mapping.Limiter
	}{{p.stepLimit, mapping.LimitedByRequest}, {rule.StepLimit(p.assistant.Config), mapping.LimitedByAssistant}, {configured, by}} {
		if limit.most > 0 && (o.MaxSteps == 0 || limit.most < o.MaxSteps) {
			o.MaxSteps, o.LimitedBy = limit.most, limit.by
		}
	}
	if o.MaxSteps < p.stepLimit {
		p.addUnsupported(mapping.CapRecursionLimit)
	}
	return nil
}

// answerParent handles a call that a resumed parent graph repeats. The graph sends its node's input again, and a
// stateful agent that waits for an answer ignores that input. For an opaque agent the call becomes an answer. Without
// an open question it is an ordinary run.
func (p *runPlan) answerParent() error {
	open := p.thread.Interrupts
	if p.req.ParentAnswers == nil || p.traits.Exposes.ReportsState() || len(open) == 0 {
		return nil
	}
	answers := map[string]json.RawMessage{}
	for id, value := range p.req.ParentAnswers {
		for _, q := range open {
			if sameQuestion(id, q.ID) {
				answers[q.ID] = value
			}
		}
	}
	if len(answers) == 0 {
		return rule.UnansweredByParent(p.thread.ID, open)
	}
	raw, err := json.Marshal(answers)
	if err != nil {
		return mapping.Classify(err)
	}
	p.out.Run.Options.Resuming, p.out.Run.Options.Resume = true, raw
	return nil
}

// sameQuestion compares ids of questions. UUIDs have dashes, and LangGraph uses 32 hexadecimal digits.
func sameQuestion(a, b string) bool {
	plain := func(id string) string { return strings.ToLower(strings.ReplaceAll(id, "-", "")) }
	return plain(a) == plain(b)
}
