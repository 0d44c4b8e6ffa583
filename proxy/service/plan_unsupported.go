package service

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/memory"
)

// unsupportedFields reports the parts of the input that the agent will not receive as they were sent. Fields missing
// from the agent's protocol are reported by readOptions.
func (p *runPlan) unsupportedFields(ctx context.Context) error {
	o := &p.out.Run.Options
	if o.Resuming && !o.ByMessage {
		return nil
	}
	p.unsupportedInMessages()
	if p.traits.Exposes.ReportsState() {
		return nil // it has the conversation
	}
	cut, err := p.cuts(ctx)
	if cut {
		p.addUnsupported(mapping.CapTranscript)
	}
	return err
}

// unsupportedInMessages reports what the messages of the input contain besides text and files. It skips the messages if
// the agent receives all of that.
func (p *runPlan) unsupportedInMessages() {
	if len(p.unsupported(mapping.DetectedInMessages()...)) == 0 || p.handedOn() {
		return
	}
	links, parts := p.in.LostAttachments(p.agent.Config.Artifacts.Exclude)
	if links {
		p.addUnsupported(mapping.CapLinks)
	}
	if parts {
		p.addUnsupported(mapping.CapParts)
	}
	names, remarks := p.in.LostMessageData()
	if names {
		p.addUnsupported(mapping.CapSpeaker)
	}
	if remarks {
		p.addUnsupported(mapping.CapRemarks)
	}
}

// handedOn reports whether the agent also receives the messages as they were sent, in the additional_input of a task.
// If the input has other members, the agent receives those instead.
func (p *runPlan) handedOn() bool {
	return p.task != nil && p.in.Other == nil && len(p.unsupported(mapping.CapTaskExtra)) == 0
}

// addUnsupported reports parts that the agent does not receive, or not as intended, with the names of the client's
// dialect.
func (p *runPlan) addUnsupported(meant ...mapping.Capability) {
	o := &p.out.Run.Options
	o.Losses = append(o.Losses, p.unsupported(meant...)...)
}

func (p *runPlan) unsupported(meant ...mapping.Capability) []mapping.Loss {
	return p.s.dialects.UnsupportedCapabilities(p.req.Flavour, meant, p.traits.Capabilities)
}

// cuts reports whether earlier messages do not fit into the prompt or are withheld from the agent, because of its
// memory.history or because the request only approves something.
func (p *runPlan) cuts(ctx context.Context) (bool, error) {
	cfg := &p.agent.Config.Memory
	t := rule.PromptParts{Mode: rule.Transcript(cfg.History), Current: p.in.Text, TextOf: sayLong}
	beside, err := p.besideRequest(ctx)
	if err != nil {
		return false, err
	}
	t.Earlier = beside.sent
	switch {
	case p.consents():
		t.Mode = rule.TranscriptNone
		return t.Withholds(), nil
	}
	withheld := t.Withholds()
	if t.Earlier = beside.told; len(t.Earlier) == 0 {
		return withheld, nil
	}
	over, err := p.overBudget(ctx, t)
	return withheld || over, err
}

// overBudget reports whether the prompt is longer than the agent's memory.max_bytes.
func (p *runPlan) overBudget(ctx context.Context, t rule.PromptParts) (bool, error) {
	cfg := &p.agent.Config.Memory
	if p.out.Run.Options.ByMessage { // an answer is sent as text, without memory
		_, cut := t.Prompt(int(cfg.MaxBytes))
		return cut.Messages, nil
	}
	if cfg.Mode != "additional_input" {
		memory, err := p.recalled(ctx)
		if err != nil {
			return false, err
		}
		t.Notes = memory.Lines()
		_, cut := t.Prompt(int(cfg.MaxBytes))
		if cut.Notes && cfg.Mode == "prompt" && !p.forgets {
			p.forgets = true
			p.addUnsupported(mapping.CapItems)
		}
		if cut.Messages || cfg.Mode == "prompt" {
			return cut.Messages, nil
		}
	}
	_, dropped := rule.Newest(rule.RoleMessages(t.Mode.Of(t.Earlier)), int(cfg.MaxBytes))
	return dropped, nil
}

// consents reports whether a message only lets the agent continue. The agent then receives no text.
func (p *runPlan) consents() bool {
	o := &p.out.Run.Options
	if !o.ByMessage {
		return false
	}
	a, err := rule.ParseAnswer(o)
	return err == nil && a.Continue
}

// otherMessages are the messages other than the request: sent by the client (sent) and passed to the agent (told). A
// new task also gets the messages of the thread. An agent that has asked a question already knows them.
type otherMessages struct{ sent, told []json.RawMessage }

func (p *runPlan) besideRequest(ctx context.Context) (list otherMessages, err error) {
	list.sent, _ = p.in.PartConversation(p.in.Messages)
	list.told = list.sent
	if p.thread.Head == "" {
		return list, nil
	}
	_, fold, err := p.s.readHead(ctx, &p.thread)
	if err != nil {
		return list, err
	}
	if p.out.Run.Options.ByMessage {
		list.sent, _ = p.in.PartConversation(p.in.New(fold))
		list.sent = rule.WithoutResultOf(list.sent, rule.OpenCallIn(fold.Messages()))
		list.told = list.sent
		return list, nil
	}
	if known, err := p.agentKnowsThread(ctx); err != nil || known {
		list.told, _ = p.in.PartConversation(p.in.New(fold))
		return list, err
	}
	list.told, err = p.merged(fold)
	return list, err
}

// agentKnowsThread reports whether the agent remembers exactly the conversation that the run begins with. If so, it
// receives only the new messages.
func (p *runPlan) agentKnowsThread(ctx context.Context) (bool, error) {
	if !p.traits.Exposes.KeepsConversation() || p.out.Run.Options.Checkpoint != "" {
		return false, nil
	}
	links, err := p.s.store.Links.List(ctx, p.thread.ID)
	return slices.ContainsFunc(links, func(l mapping.Link) bool {
		return l.Agent == p.agent.Name && l.Topic != "" && l.LocalCheckpoint == p.thread.Head
	}), err
}

// checkMemory reports as unsupported that some items of memory.namespaces do not reach the agent.
func (p *runPlan) checkMemory(ctx context.Context) error {
	if p.out.Run.Options.Resuming && !p.traits.Exposes.ReportsState() {
		return nil // the agent that gets an answer already has its items
	}
	recalled, err := p.recalled(ctx)
	if p.forgets = err == nil && (recalled.Cut || p.crowded(recalled)); p.forgets {
		p.addUnsupported(mapping.CapItems)
	}
	return err
}

// crowded reports whether the request is too long for the prompt to contain all items.
func (p *runPlan) crowded(recalled memory.Recalled) bool {
	cfg := &p.agent.Config.Memory
	if p.traits.Exposes.ReportsState() || cfg.Mode != "prompt" {
		return false
	}
	_, cut := rule.PromptParts{Mode: rule.TranscriptNone, Current: p.in.Text, Notes: recalled.Lines()}.Prompt(int(cfg.MaxBytes))
	return cut.Notes
}

// recalled returns the items of the long-term store that the agent would receive now. They are read once per request
// and passed on to a run that starts at once.
func (p *runPlan) recalled(ctx context.Context) (memory.Recalled, error) {
	if p.memories == nil {
		recalled, err := p.recall(ctx)
		if err != nil {
			return recalled, err
		}
		p.memories = &recalled
	}
	return *p.memories, nil
}

func (p *runPlan) recall(ctx context.Context) (memory.Recalled, error) {
	if len(p.agent.Config.Memory.Namespaces) == 0 {
		return memory.Recalled{}, nil
	}
	metadata := p.thread.Metadata
	if len(p.out.ThreadMeta) > 0 {
		var err error
		if metadata, err = rule.MergeMetadata(metadata, p.out.ThreadMeta); err != nil {
			return memory.Recalled{}, err
		}
	}
	return p.s.engine.Recall(ctx, p.agent, &p.out.Run, metadata, p.in.Text)
}

// merged returns the messages of the thread and the input that precede the request.
func (p *runPlan) merged(fold *state.Fold) ([]json.RawMessage, error) {
	after, err := fold.Reduce(p.in.Delta())
	if err != nil {
		return nil, err
	}
	earlier, _ := p.in.PartConversation(after.Messages())
	return earlier, nil
}

// sayLong renders a message with its files under their original names. Numbers that make names unique do not matter
// here.
func sayLong(message json.RawMessage) string {
	return rule.TextWithFiles(message, func(a rule.Attachment) string { return a.Name })
}
