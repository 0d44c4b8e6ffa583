package service

import (
	"context"
	"encoding/json"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/memory"
)

// unsupportedFields notes what of the input an agent will not be told as it was sent, beside the fields that its
// protocol has no word for.
func (p *runPlan) unsupportedFields(ctx context.Context) error {
	o := &p.out.Run.Options
	if o.Resuming && !o.ByMessage {
		return nil
	}
	p.unsupportedInMessages()
	if !p.traits.Opaque {
		return nil // it has the conversation itself
	}
	cut, err := p.cuts(ctx)
	if cut {
		p.lose(mapping.MeansTranscript)
	}
	return err
}

// unsupportedInMessages notes what the messages of the input hold beside words and files. They are not looked through
// for an agent that is told all of it.
func (p *runPlan) unsupportedInMessages() {
	if len(p.lost(mapping.FoundInMessages()...)) == 0 || p.handedOn() {
		return
	}
	links, parts := p.in.Untold(p.agent.Config.Artifacts.Exclude)
	if links {
		p.lose(mapping.MeansLinks)
	}
	if parts {
		p.lose(mapping.MeansParts)
	}
	names, remarks := p.in.Unsaid()
	if names {
		p.lose(mapping.MeansSpeaker)
	}
	if remarks {
		p.lose(mapping.MeansRemarks)
	}
}

// handedOn reports whether the agent has the messages as they were sent, too: in the additional_input of a task. Where
// other members stand beside them, the agent is given those in their place.
func (p *runPlan) handedOn() bool {
	return p.task != nil && p.in.Other == nil && len(p.lost(mapping.MeansTaskExtra)) == 0
}

// lose notes what the agent is not told, or not as it was meant, in the words of the client's dialect.
func (p *runPlan) lose(meant ...mapping.Meaning) {
	o := &p.out.Run.Options
	o.Losses = append(o.Losses, p.lost(meant...)...)
}

func (p *runPlan) lost(meant ...mapping.Meaning) []mapping.Loss {
	return p.s.dialects.Lost(p.n.Flavour, meant, p.traits.Capabilities)
}

// cuts reports whether the messages beside the request do not fit into what the agent is told, or are kept from it: by
// its memory.history, or since the request is a mere consent.
func (p *runPlan) cuts(ctx context.Context) (bool, error) {
	cfg := &p.agent.Config.Memory
	t := rule.Telling{Mode: rule.Transcript(cfg.History), Current: p.in.Text, Say: sayLong}
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

// overBudget reports whether what the agent is told is longer than its memory.max_bytes.
func (p *runPlan) overBudget(ctx context.Context, t rule.Telling) (bool, error) {
	cfg := &p.agent.Config.Memory
	if p.out.Run.Options.ByMessage { // an answer is told in words, without memory
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
			p.lose(mapping.MeansItems)
		}
		if cut.Messages || cfg.Mode == "prompt" {
			return cut.Messages, nil
		}
	}
	_, dropped := rule.Newest(rule.RoleMessages(t.Mode.Of(t.Earlier)), int(cfg.MaxBytes))
	return dropped, nil
}

// consents reports whether a message only says that the agent may go on: it is told nothing then.
func (p *runPlan) consents() bool {
	o := &p.out.Run.Options
	if !o.ByMessage {
		return false
	}
	a, err := rule.ParseAnswer(o)
	return err == nil && a.Continue
}

// otherMessages are the messages beside the request: those that the client sent, and those that the agent is to be
// told. A new task is told the thread's, too; an agent that has asked knows them.
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
		list.sent = rule.BesideAnswer(list.sent, rule.OpenCallIn(fold.Messages()))
		list.told = list.sent
		return list, nil
	}
	list.told, err = p.merged(fold)
	return list, err
}

// checkMemory notes whether the agent is not told all that its memory.namespaces hold.
func (p *runPlan) checkMemory(ctx context.Context) error {
	if p.out.Run.Options.Resuming && p.traits.Opaque {
		return nil // an answer goes to an agent that knows what it was told
	}
	recalled, err := p.recalled(ctx)
	if p.forgets = err == nil && (recalled.Cut || p.crowded(recalled)); p.forgets {
		p.lose(mapping.MeansItems)
	}
	return err
}

// crowded reports whether the request leaves a prompt no room for all items.
func (p *runPlan) crowded(recalled memory.Recalled) bool {
	cfg := &p.agent.Config.Memory
	if !p.traits.Opaque || cfg.Mode != "prompt" {
		return false
	}
	_, cut := rule.Telling{Mode: rule.TranscriptNone, Current: p.in.Text, Notes: recalled.Lines()}.Prompt(int(cfg.MaxBytes))
	return cut.Notes
}

// recalled is what the agent would be told of the long-term store now. It is read once for a request, and carried along
// to a run that starts at once.
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

// merged are the messages before the request, of the thread and the input.
func (p *runPlan) merged(fold *state.Fold) ([]json.RawMessage, error) {
	after, err := fold.Reduce(p.in.Delta())
	if err != nil {
		return nil, err
	}
	earlier, _ := p.in.PartConversation(after.Messages())
	return earlier, nil
}

// sayLong says a message with its files under their own names: a number after one does not matter here.
func sayLong(message json.RawMessage) string {
	return rule.Say(message, func(a rule.Attachment) string { return a.Name })
}
