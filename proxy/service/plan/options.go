package plan

import (
	"context"
	"encoding/json"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/webhook"
)

// runOptions reads how a run is to be carried out.
type runOptions struct {
	*draft
	telling  runTelling
	dialects Dialects
	cfg      *config.Config
	states   *store.States
}

// read turns the request's options into those of the run, and refuses by name what the agent cannot do.
func (b runOptions) read(ctx context.Context) error {
	n := b.n
	b.out.Run.Options = mapping.RunOptions{
		StreamModes: n.StreamModes, Subgraphs: n.Subgraphs, Config: n.Config, Context: n.Context,
		InterruptBefore: n.InterruptBefore, InterruptAfter: n.InterruptAfter, Temporary: n.Temporary, DeleteAfter: n.DeleteAfter,
		Webhook: n.Webhook, Retries: b.retries(), RetryUnknown: n.RetriesSaid && n.Retries > 0,
		Losses: b.dialects.Losses(n.Flavour, n.Fields, b.traits.Capabilities), MayOverlap: b.agent.Config.AllowConcurrent,
	}
	b.telling.lose(n.Means...)
	for _, check := range []func(context.Context) error{b.limitSteps, b.checkWebhook, b.command, b.supervision, b.checkpoint, b.parallel} {
		if err := check(ctx); err != nil {
			return err
		}
	}
	return nil
}

// retries is what the request says, else the agent's configuration.
func (b runOptions) retries() int {
	if b.n.RetriesSaid {
		return b.n.Retries
	}
	return b.agent.Config.Retries
}

// checkWebhook refuses a webhook that could never be called.
func (b runOptions) checkWebhook(context.Context) error {
	if b.n.Webhook == "" {
		return nil
	}
	return webhook.CheckTarget(b.n.Webhook, b.cfg.Webhooks)
}

func (b runOptions) command(context.Context) error {
	c, o := b.n.Command, &b.out.Run.Options
	if c == nil {
		return b.parent()
	}
	if err := b.jump(); err != nil {
		return err
	}
	if len(c.Update) > 0 && string(c.Update) != "null" {
		if b.traits.Opaque {
			how := mapping.Advice{Meaning: mapping.MeansState, With: " with %s"}
			return refuse("%s is not supported before %s. Change the thread's state%s first.", mapping.MeansUpdate, b.traits.Kind, how)
		}
		o.Update = c.Update
	}
	if err := rule.CheckFileCount(rule.CountFiles(c.Update), b.cfg.Limits.MaxFilesPerRequest); err != nil {
		return err
	}
	o.Resuming = c.HasResume
	if rawjson.IsNull(c.Resume) && (o.Goto != nil || o.Update != nil) || b.traits.Opaque && o.Goto != nil {
		o.Resuming = false // RemoteGraph of Python sends all members, those that say nothing as null
	}
	if o.Resuming {
		o.Resume = c.Resume
		if o.Resume == nil {
			o.Resume = json.RawMessage("null")
		}
	}
	return nil
}

// jump reads where the command leads. An opaque agent is the graph of one node: of that the end alone can be gone to,
// which drops the open question.
func (b runOptions) jump() error {
	c, o := b.n.Command, &b.out.Run.Options
	if rawjson.IsNull(c.Goto) {
		return nil
	}
	if b.traits.Opaque && !rule.IsEnd(c.Goto) {
		return refuse("%s is not supported before %s, which shows no nodes to go to, but for %q. Send input or %s.",
			mapping.MeansGoto, b.traits.Kind, rule.EndNode, mapping.MeansAnswer)
	}
	if b.traits.Opaque && !rule.AnswersNothing(c.Resume) {
		return refuse("%s %q drops the question that %s answers. Send one of them.", mapping.MeansGoto, rule.EndNode, mapping.MeansAnswer)
	}
	o.Goto = c.Goto
	return nil
}

// supervision turns the nodes that a run is to stop before or after into an approval mode where the agent has no nodes
// to name.
func (b runOptions) supervision(context.Context) error {
	o := &b.out.Run.Options
	o.Approval = mapping.Approval(b.agent.Config.Approval)
	if !b.known || !b.traits.Opaque {
		return nil
	}
	for _, name := range o.InterruptBefore {
		if name != "*" && name != "tools" {
			return refuse("%s names node %q, but agent %s shows no nodes. Use \"*\" or [\"tools\"] to approve every proposed command.",
				mapping.MeansStopBefore, name, b.agent.Name)
		}
		o.Approval = mapping.ApprovalAsk
	}
	for _, name := range o.InterruptAfter {
		if name != "*" {
			return refuse("%s names node %q, but agent %s shows no nodes. Use \"*\" to stop after every step.", mapping.MeansStopAfter, name, b.agent.Name)
		}
		o.Approval = mapping.ApprovalStep
	}
	return nil
}

// checkpoint accepts the head as it is and notes an older one as a fork.
func (b runOptions) checkpoint(ctx context.Context) error {
	id := b.n.CheckpointID
	if id == "" || id == b.thread.Head {
		return nil
	}
	if b.out.Thread != nil { // it is made with the run
		return mapping.Errorf(mapping.NotFound, mapping.CodeCheckpointNotFound, "There is no checkpoint %q: the run's thread is a new one.", id)
	}
	if _, err := b.states.At(ctx, b.out.Run.ThreadID, id); err != nil {
		return err
	}
	b.out.Run.Options.Checkpoint = id
	return nil
}

func (b runOptions) parallel(context.Context) error {
	switch m := b.out.Run.Multitask; m {
	case mapping.StrategyReject, mapping.StrategyEnqueue, mapping.StrategyInterrupt, mapping.StrategyRollback:
		return nil
	case mapping.StrategyConcurrent:
		return b.concurrent()
	default:
		return refuse("%s %q is not supported. Use reject, enqueue, interrupt or rollback.", mapping.MeansStrategy, m)
	}
}

// concurrent refuses a run beside others where its agent's configuration does not allow it, and one that would move the
// head away under them.
func (b runOptions) concurrent() error {
	if !b.agent.Config.AllowConcurrent {
		return refuse("%s concurrent is off for agent %s (agents.%s.allow_concurrent in the bridge's configuration). Use reject, enqueue, interrupt or rollback.",
			mapping.MeansStrategy, b.agent.Name, b.agent.Name)
	}
	if b.out.Run.Options.Checkpoint != "" {
		return refuse("%s concurrent merges into the newest state, so such a run cannot begin at an older checkpoint. Use another strategy, or copy the thread.",
			mapping.MeansStrategy)
	}
	return nil
}

// limitSteps takes the smallest of the limits that the request, its assistant and the agent's configuration set. A
// request that is given less than it asks for is told so.
func (b runOptions) limitSteps(context.Context) error {
	o := &b.out.Run.Options
	configured, by := b.agent.Config.MaxSteps, mapping.LimitedByConfig
	if configured == 0 {
		configured, by = b.traits.MaxSteps, mapping.LimitedByDefault
	}
	for _, limit := range []struct {
		most int
		by   mapping.Limiter
	}{{b.asked, mapping.LimitedByRequest}, {rule.StepLimit(b.assistant.Config), mapping.LimitedByAssistant}, {configured, by}} {
		if limit.most > 0 && (o.MaxSteps == 0 || limit.most < o.MaxSteps) {
			o.MaxSteps, o.LimitedBy = limit.most, limit.by
		}
	}
	if o.MaxSteps < b.asked {
		b.telling.lose(mapping.MeansRecursionLimit)
	}
	return nil
}
