package stepping

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
)

// runOfTexts returns the request for a run with a message for each text, the uploaded files, and the run options in
// the task's additional_input.
func (s *Stepper) runOfTexts(ctx context.Context, p *stepRequest, texts []string, tr *TaskRun) adapter.RunRequest {
	extra := rule.ReadTaskExtra(p.ses.task.AdditionalInput)
	own := extra.Input
	if len(own) == 0 || own[0] != '{' {
		own = nil
	}
	if rawjson.Get(own, "messages") != nil {
		texts = nil
	}
	var files json.RawMessage
	if files, tr.Uploaded = s.uploads(ctx, p.ses); files != nil {
		files = mergeFiles(files, rawjson.Get(own, "files"))
	}
	n := adapter.RunRequest{
		ThreadID: p.ses.task.ThreadID, Flavour: p.flavour, Multitask: mapping.StrategyEnqueue,
		Config: extra.Config, Context: extra.Context, HasInput: true,
		Retries: p.req.Retries, RetriesSet: p.req.RetriesSet,
	}
	if strategy := rawjson.TextOf(extra.Strategy); strategy != "" {
		n.Multitask = rule.TaskStrategy(strategy)
	}
	firstID := ""
	if p.ses.State() == taskUnstarted {
		firstID = mapping.MessageID(p.ses.task.ID, "input")
	}
	n.Input = runInput(own, texts, firstID, files)
	if own == nil && files == nil && len(texts) == 1 {
		tr.Words = texts[0]
	}
	n.Kwargs = rule.RequestOfTask(&p.ses.task, extra)
	if p.ses.task.HasInput {
		n.Means = append(n.Means, mapping.CapTask)
	}
	if len(p.ses.task.AdditionalInput) > len("{}") {
		n.Means = append(n.Means, mapping.CapTaskExtra)
	}
	return n
}

// runInput adds texts as messages, and files, to an input object. Texts without files may be long and are copied only
// once.
func runInput(own json.RawMessage, texts []string, firstID string, files json.RawMessage) (input json.RawMessage) {
	switch messages := humanMessages(texts, firstID); {
	case len(texts) == 0 && files == nil:
		input, _ = rawjson.WithMembers(own)
	case len(texts) == 0:
		input, _ = rawjson.WithMember(own, "files", files)
	case files == nil:
		pieces, _ := rawjson.PiecesAround(own, "messages", messages)
		input = pieces.Join()
	default:
		input, _ = rawjson.WithMembers(own, rawjson.Member{Name: "messages", Value: messages.Join()}, rawjson.Member{Name: "files", Value: files})
	}
	return input
}

// mergeFiles adds the files in additional_input to the uploads. An upload takes precedence over a file with the same
// path because it is newer.
func mergeFiles(uploads, named json.RawMessage) json.RawMessage {
	var all, over map[string]json.RawMessage
	if json.Unmarshal(named, &all) != nil || all == nil || json.Unmarshal(uploads, &over) != nil {
		return uploads
	}
	maps.Copy(all, over)
	raw, _ := json.Marshal(all)
	return raw
}

// humanMessages returns texts as messages. The first one gets firstID, unless that is "". By this id a task's first
// message is known before there is a run, whichever side merges it into the state.
func humanMessages(texts []string, firstID string) (out rawjson.Pieces) {
	for i, text := range texts {
		if i == 0 {
			out.Literal("[{")
		} else {
			out.Literal(",{")
		}
		if i == 0 && firstID != "" {
			out.Literal(`"id":`).Text(firstID).Literal(",")
		}
		out.Literal(`"type":"human","content":`).Text(text).Literal("}")
	}
	return *out.Literal("]")
}
