package plan

import (
	"context"
	"encoding/json"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/memory"
)

// runTelling is what the agent will be told of a run, and what it will not be told.
type runTelling struct {
	*draft
	dialects Dialects
	engine   Engine
	heads    Heads
}

// losses notes what of the input an agent will not be told as it was sent, beside the fields that its protocol has no
// word for.
func (b runTelling) losses(ctx context.Context) error {
	o := &b.out.Run.Options
	if o.Resuming && !o.ByMessage {
		return nil
	}
	b.inMessages()
	if !b.traits.Opaque {
		return nil // it has the conversation itself
	}
	cut, err := b.cuts(ctx)
	if cut {
		b.lose(mapping.MeansTranscript)
	}
	return err
}

// inMessages notes what the messages of the input hold beside words and files. They are not looked through for an agent
// that is told all of it.
func (b runTelling) inMessages() {
	if len(b.lost(mapping.FoundInMessages()...)) == 0 || b.handedOn() {
		return
	}
	links, parts := b.in.Untold(b.agent.Config.Artifacts.Exclude)
	if links {
		b.lose(mapping.MeansLinks)
	}
	if parts {
		b.lose(mapping.MeansParts)
	}
	names, remarks := b.in.Unsaid()
	if names {
		b.lose(mapping.MeansSpeaker)
	}
	if remarks {
		b.lose(mapping.MeansRemarks)
	}
}

// handedOn reports whether the agent has the messages as they were sent, too: in the additional_input of a task. Where
// other members stand beside them, the agent is given those in their place.
func (b runTelling) handedOn() bool {
	return b.task != nil && b.in.Other == nil && len(b.lost(mapping.MeansTaskExtra)) == 0
}

// lose notes what the agent is not told, or not as it was meant, in the words of the client's dialect.
func (b runTelling) lose(meant ...mapping.Meaning) {
	o := &b.out.Run.Options
	o.Losses = append(o.Losses, b.lost(meant...)...)
}

func (b runTelling) lost(meant ...mapping.Meaning) []mapping.Loss {
	return b.dialects.Lost(b.n.Flavour, meant, b.traits.Capabilities)
}

// cuts reports whether the messages beside the request do not fit into what the agent is told, or are kept from it: by
// its memory.history, or since the request is a mere consent.
func (b runTelling) cuts(ctx context.Context) (bool, error) {
	cfg := &b.agent.Config.Memory
	t := rule.Telling{Mode: rule.Transcript(cfg.History), Current: b.in.Text, Say: sayLong}
	beside, err := b.besideRequest(ctx)
	if err != nil {
		return false, err
	}
	t.Earlier = beside.sent
	switch {
	case b.consents():
		t.Mode = rule.TranscriptNone
		return t.Withholds(), nil
	}
	withheld := t.Withholds()
	if t.Earlier = beside.told; len(t.Earlier) == 0 {
		return withheld, nil
	}
	over, err := b.overBudget(ctx, t)
	return withheld || over, err
}

// overBudget reports whether what the agent is told is longer than its memory.max_bytes.
func (b runTelling) overBudget(ctx context.Context, t rule.Telling) (bool, error) {
	cfg := &b.agent.Config.Memory
	if b.out.Run.Options.ByMessage { // an answer is told in words, without memory
		_, cut := t.Prompt(int(cfg.MaxBytes))
		return cut.Messages, nil
	}
	if cfg.Mode != "additional_input" {
		memory, err := b.recalled(ctx)
		if err != nil {
			return false, err
		}
		t.Notes = memory.Lines()
		_, cut := t.Prompt(int(cfg.MaxBytes))
		if cut.Notes && cfg.Mode == "prompt" && !b.forgets {
			b.forgets = true
			b.lose(mapping.MeansItems)
		}
		if cut.Messages || cfg.Mode == "prompt" {
			return cut.Messages, nil
		}
	}
	_, dropped := rule.Newest(rule.RoleMessages(t.Mode.Of(t.Earlier)), int(cfg.MaxBytes))
	return dropped, nil
}

// consents reports whether a message only says that the agent may go on: it is told nothing then.
func (b runTelling) consents() bool {
	o := &b.out.Run.Options
	if !o.ByMessage {
		return false
	}
	a, err := rule.ParseAnswer(o)
	return err == nil && a.Continue
}

// otherMessages are the messages beside the request: those that the client sent, and those that the agent is to be
// told. A new task is told the thread's, too; an agent that has asked knows them.
type otherMessages struct{ sent, told []json.RawMessage }

func (b runTelling) besideRequest(ctx context.Context) (list otherMessages, err error) {
	list.sent, _ = b.in.PartConversation(b.in.Messages)
	list.told = list.sent
	if b.thread.Head == "" {
		return list, nil
	}
	_, fold, err := b.heads.At(ctx, &b.thread)
	if err != nil {
		return list, err
	}
	if b.out.Run.Options.ByMessage {
		list.sent, _ = b.in.PartConversation(b.in.New(fold))
		list.sent = rule.BesideAnswer(list.sent, rule.OpenCallIn(fold.Messages()))
		list.told = list.sent
		return list, nil
	}
	list.told, err = b.merged(fold)
	return list, err
}

// memory notes whether the agent is not told all that its memory.namespaces hold.
func (b runTelling) memory(ctx context.Context) error {
	if b.out.Run.Options.Resuming && b.traits.Opaque {
		return nil // an answer goes to an agent that knows what it was told
	}
	recalled, err := b.recalled(ctx)
	if b.forgets = err == nil && (recalled.Cut || b.crowded(recalled)); b.forgets {
		b.lose(mapping.MeansItems)
	}
	return err
}

// crowded reports whether the request leaves a prompt no room for all items.
func (b runTelling) crowded(recalled memory.Recalled) bool {
	cfg := &b.agent.Config.Memory
	if !b.traits.Opaque || cfg.Mode != "prompt" {
		return false
	}
	_, cut := rule.Telling{Mode: rule.TranscriptNone, Current: b.in.Text, Notes: recalled.Lines()}.Prompt(int(cfg.MaxBytes))
	return cut.Notes
}

// recalled is what the agent would be told of the long-term store now. It is read once for a request, and carried along
// to a run that starts at once.
func (b runTelling) recalled(ctx context.Context) (memory.Recalled, error) {
	if b.memories == nil {
		recalled, err := b.recall(ctx)
		if err != nil {
			return recalled, err
		}
		b.memories = &recalled
	}
	return *b.memories, nil
}

func (b runTelling) recall(ctx context.Context) (memory.Recalled, error) {
	if len(b.agent.Config.Memory.Namespaces) == 0 {
		return memory.Recalled{}, nil
	}
	metadata := b.thread.Metadata
	if len(b.out.ThreadMeta) > 0 {
		var err error
		if metadata, err = rule.MergeMetadata(metadata, b.out.ThreadMeta); err != nil {
			return memory.Recalled{}, err
		}
	}
	return b.engine.Recall(ctx, b.agent, &b.out.Run, metadata, b.in.Text)
}

// merged are the messages before the request, of the thread and the input.
func (b runTelling) merged(fold *state.Fold) ([]json.RawMessage, error) {
	after, err := fold.Reduce(b.in.Delta())
	if err != nil {
		return nil, err
	}
	earlier, _ := b.in.PartConversation(after.Messages())
	return earlier, nil
}

// sayLong says a message with its files under their own names: a number after one does not matter here.
func sayLong(message json.RawMessage) string {
	return rule.Say(message, func(a rule.Attachment) string { return a.Name })
}
