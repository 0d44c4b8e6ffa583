package service

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// request is the run that a task's words ask for: a message each, the files
// that were uploaded, and what additional_input says in the terms of the other
// dialect (input, config, context).
func (p *pull) request(ctx context.Context, words []string, tr *taskRun) adapter.NewRun {
	var extra struct {
		Input   map[string]json.RawMessage `json:"input"`
		Config  json.RawMessage            `json:"config"`
		Context json.RawMessage            `json:"context"`
		Multi   string                     `json:"multitask_strategy"`
	}
	_ = json.Unmarshal(p.ses.task.AdditionalInput, &extra) // a client's own keys of other types are its own affair
	input := extra.Input
	if input == nil {
		input = map[string]json.RawMessage{}
	}
	if _, own := input["messages"]; !own && len(words) > 0 {
		input["messages"] = p.humanMessages(words)
	}
	var files json.RawMessage
	if files, tr.uploaded = p.uploads(ctx); files != nil {
		input["files"] = besides(files, input["files"])
	}
	n := adapter.NewRun{
		ThreadID: p.ses.task.ThreadID, Flavour: flavour(p.ses.task), Multitask: mapping.StrategyEnqueue,
		Config: extra.Config, Context: extra.Context, HasInput: true,
		Retries: p.req.Retries, RetriesSaid: p.req.RetriesSaid,
	}
	if extra.Multi != "" {
		n.Multitask = mapping.TaskStrategy(extra.Multi)
	}
	n.Input, _ = json.Marshal(input)
	n.Kwargs = p.kwargs(extra.Config, extra.Context)
	if p.ses.task.HasInput {
		n.Fields = append(n.Fields, "input")
	}
	if len(p.ses.task.AdditionalInput) > len("{}") {
		n.Fields = append(n.Fields, "additional_input")
	}
	return n
}

// besides adds to uploads the files that additional_input names itself. Of two
// with one path the upload counts, which came later.
func besides(uploads, named json.RawMessage) json.RawMessage {
	var all, over map[string]json.RawMessage
	if json.Unmarshal(named, &all) != nil || all == nil || json.Unmarshal(uploads, &over) != nil {
		return uploads
	}
	maps.Copy(all, over)
	raw, _ := json.Marshal(all)
	return raw
}

// kwargs is what is told of a run that a task made: the task's own request.
// What the run is given stands in its options.
func (p *pull) kwargs(config, context json.RawMessage) json.RawMessage {
	task := p.ses.its()
	fields := map[string]json.RawMessage{"additional_input": task.AdditionalInput}
	if task.HasInput {
		fields["input"], _ = json.Marshal(task.Input)
	}
	if len(config) > 0 {
		fields["config"] = config
	}
	if len(context) > 0 {
		fields["context"] = context
	}
	raw, _ := json.Marshal(fields)
	return raw
}

// humanMessages are words as messages. The first of a task has the id that it
// is known by before there is a run, whoever merges it into the state.
func (p *pull) humanMessages(words []string) json.RawMessage {
	type message struct {
		ID      string `json:"id,omitempty"`
		Type    string `json:"type"`
		Content string `json:"content"`
	}
	list := make([]message, len(words))
	for i, w := range words {
		list[i] = message{Type: "human", Content: w}
	}
	if !p.ses.begun() {
		list[0].ID = mapping.MessageID(p.ses.task.ID, "input")
	}
	raw, _ := json.Marshal(list)
	return raw
}
