package engine

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
)

// conversation is what the agent of a new upstream task is told of the thread's messages.
type conversation struct {
	in      *rule.Input
	earlier []json.RawMessage // all but the request
	fresh   []json.RawMessage // of them, those that came with the run's input
	request json.RawMessage   // nil for none
	files   *attached
}

// conversation is that of the run: the state it began with, its input merged into it by id.
func (x assignment) conversation(ctx context.Context, in *rule.Input) (conversation, error) {
	base, err := x.works.log.Base(ctx, x.Run.ThreadID, x.Run.Base)
	if err != nil {
		return conversation{}, err
	}
	c := conversation{in: in, files: x.works.sources.attached(ctx, x.Run.ThreadID, x.rec.fold)}
	merged, err := withInput(base, in)
	if err != nil {
		return c, err
	}
	c.earlier, c.request = in.PartConversation(merged)
	c.fresh, _ = in.PartConversation(in.New(base))
	return c, nil
}

// withInput are the messages of a state with those of an input merged into them.
func withInput(base *state.Fold, in *rule.Input) ([]json.RawMessage, error) {
	if len(base.Messages()) == 0 && !slices.ContainsFunc(in.Messages, state.Removes) {
		return in.Messages, nil
	}
	after, err := base.Reduce(in.Delta())
	if err != nil {
		return nil, err
	}
	return after.Messages(), nil
}

// prompt tells what t says of earlier messages and notes, and the request.
func (c conversation) prompt(t rule.Telling, budget int) string {
	t.Say = c.say
	if c.request != nil {
		t.Current = c.say(c.request)
	}
	text, _ := t.Prompt(budget)
	return text
}

func (c conversation) say(message json.RawMessage) string {
	return c.in.SayInput(message, c.files.name)
}

// inFull are the earlier messages in the form of the Agent Protocol. Files and tool calls, which that form has no
// members for, are named in their contents: the agent is given the files' bytes beside.
func (c conversation) inFull() []json.RawMessage {
	list := make([]json.RawMessage, len(c.earlier))
	for i, m := range c.earlier {
		list[i] = m
		said := rule.MessageText(m)
		if len(rule.Attachments(m)) > 0 {
			said = c.say(m)
		} else if rule.WithCalls(m, said) == said {
			continue
		}
		list[i] = rule.WithContent(m, rule.WithCalls(m, said))
	}
	return rule.RoleMessages(list)
}
