package service

import (
	"context"
	"encoding/json"

	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/engine"
)

// readInput reads the input and refuses input that no agent can receive.
func (p *runPlan) readInput(context.Context) (err error) {
	if p.out.Run.Options.Resuming {
		p.in = &rule.Input{}
		return nil
	}
	input, messages, err := engine.StoredInput(&p.out.Run)
	if err != nil {
		return err
	}
	if err = p.checkMessages(input, messages); err != nil {
		return err
	}
	if err = rule.CheckFileCount(rule.CountFiles(input), p.cfg.Limits.MaxFilesPerRequest); err != nil {
		return err
	}
	if err = p.parseInput(); err != nil {
		return err
	}
	if p.traits.Exposes.ReportsState() {
		return nil
	}
	return p.checkFiles()
}

// checkMessages limits the number of messages before they are normalised, since a message of 3 bytes becomes one of 150
// bytes.
func (p *runPlan) checkMessages(input, further json.RawMessage) error {
	var own json.RawMessage
	if len(input) > 0 && input[0] == '{' {
		own, _ = rawjson.Lookup(input, "messages") // unreadable messages are refused with the input
	}
	return rule.CheckMessages(rawjson.CountElements(own)+rawjson.CountElements(further), p.cfg.Limits.Messages)
}

// parseInput parses the input. A single text is not parsed back from the message created from it, since it may be long
// and would be held until the request is answered.
func (p *runPlan) parseInput() (err error) {
	r := &p.out.Run
	if p.task == nil || p.task.Words == "" {
		p.in, err = engine.InputOf(r)
		return err
	}
	p.in = rule.TextInput(p.task.Words, engine.InputIDBase(r))
	p.in.Raw = r.Options.Input
	return nil
}

// checkFiles refuses files that no agent can receive.
func (p *runPlan) checkFiles() error {
	if err := rule.CheckFileCount(len(p.in.Files)+rule.HeldAttachments(p.in.Messages), p.cfg.Limits.MaxFilesPerRequest); err != nil {
		return err
	}
	if err := p.in.CheckFiles(); err != nil {
		return err
	}
	return p.in.CheckAttachments(int64(p.cfg.Limits.Artifact))
}
