package service

import (
	"context"
	"encoding/json"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// request is the run that a task's words ask for: a message each, the files
// that were uploaded, and what additional_input says in the terms of the other
// dialect (input, config, context).
func (p *pull) request(ctx context.Context, words []string) adapter.NewRun {
	var extra struct {
		Input   map[string]json.RawMessage `json:"input"`
		Config  json.RawMessage            `json:"config"`
		Context json.RawMessage            `json:"context"`
		Multi   mapping.Strategy           `json:"multitask_strategy"`
	}
	_ = json.Unmarshal(p.ses.task.AdditionalInput, &extra) // a client's own keys of other types are its own affair
	input := extra.Input
	if input == nil {
		input = map[string]json.RawMessage{}
	}
	if _, own := input["messages"]; !own && len(words) > 0 {
		input["messages"] = humanMessages(words)
	}
	if files := p.uploads(ctx); files != nil {
		input["files"] = files
	}
	n := adapter.NewRun{
		ThreadID: p.ses.task.ThreadID, Flavour: mapping.FlavourTaskStep, Multitask: mapping.StrategyEnqueue,
		Config: extra.Config, Context: extra.Context, HasInput: true,
		Retries: p.req.Retries, RetriesSaid: p.req.RetriesSaid,
	}
	if extra.Multi != "" {
		n.Multitask = extra.Multi
	}
	n.Input, _ = json.Marshal(input)
	kwargs := map[string]json.RawMessage{"input": n.Input}
	if len(extra.Config) > 0 {
		kwargs["config"] = extra.Config
	}
	n.Kwargs, _ = json.Marshal(kwargs)
	return n
}

func humanMessages(words []string) json.RawMessage {
	type message struct {
		Type    string `json:"type"`
		Content string `json:"content"`
	}
	list := make([]message, len(words))
	for i, w := range words {
		list[i] = message{"human", w}
	}
	raw, _ := json.Marshal(list)
	return raw
}
