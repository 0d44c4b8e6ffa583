package plan

import (
	"context"
	"encoding/json"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/engine"
)

// runInput reads what a run is given.
type runInput struct {
	*draft
	limits config.Limits
}

// read reads the input, to refuse what no agent could be given.
func (b runInput) read(context.Context) (err error) {
	if b.out.Run.Options.Resuming {
		b.in = &rule.Input{}
		return nil
	}
	input, messages, err := engine.GivenTo(&b.out.Run)
	if err != nil {
		return err
	}
	if err = b.checkMessages(input, messages); err != nil {
		return err
	}
	if err = rule.CheckFileCount(rule.CountFiles(input), b.limits.MaxFilesPerRequest); err != nil {
		return err
	}
	if err = b.parse(); err != nil {
		return err
	}
	if !b.traits.Opaque {
		return nil
	}
	return b.checkGiven()
}

// checkMessages refuses more messages than one input may bring, before they are put into normal form: a message of
// three bytes becomes one of 150.
func (b runInput) checkMessages(input, further json.RawMessage) error {
	var own json.RawMessage
	if len(input) > 0 && input[0] == '{' {
		own, _ = rawjson.Lookup(input, "messages") // what cannot be read is refused with the input
	}
	return rule.CheckMessages(rawjson.CountElements(own)+rawjson.CountElements(further), b.limits.Messages)
}

// parse makes the input of what was sent. Words alone are not read back from the message that was made of them: they
// may be long, and the request has them until it is answered.
func (b runInput) parse() (err error) {
	r := &b.out.Run
	if b.task == nil || b.task.Words == "" {
		b.in, err = engine.InputOf(r)
		return err
	}
	b.in = rule.TextInput(b.task.Words, engine.InputBase(r))
	b.in.Raw = r.Options.Input
	return nil
}

// checkGiven refuses files that no agent could be given.
func (b runInput) checkGiven() error {
	if err := rule.CheckFileCount(len(b.in.Files)+rule.HeldAttachments(b.in.Messages), b.limits.MaxFilesPerRequest); err != nil {
		return err
	}
	if err := b.in.CheckFiles(); err != nil {
		return err
	}
	return b.in.CheckAttachments(int64(b.limits.Artifact))
}
