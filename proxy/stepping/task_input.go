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

// request is the run that a task's words ask for: a message each, the files that were uploaded, and what
// additional_input says in the terms of runs.
func (s *taskRuns) request(ctx context.Context, p *stepRequest, words []string, tr *TaskRun) adapter.RunRequest {
	extra := rule.ReadTaskExtra(p.ses.task.AdditionalInput)
	own := extra.Input
	if len(own) == 0 || own[0] != '{' {
		own = nil
	}
	if rawjson.Get(own, "messages") != nil {
		words = nil
	}
	var files json.RawMessage
	if files, tr.Uploaded = s.uploads.files(ctx, p.ses); files != nil {
		files = besides(files, rawjson.Get(own, "files"))
	}
	n := adapter.RunRequest{
		ThreadID: p.ses.task.ThreadID, Flavour: p.flavour, Multitask: mapping.StrategyEnqueue,
		Config: extra.Config, Context: extra.Context, HasInput: true,
		Retries: p.req.Retries, RetriesSaid: p.req.RetriesSaid,
	}
	if strategy := rawjson.TextOf(extra.Strategy); strategy != "" {
		n.Multitask = rule.TaskStrategy(strategy)
	}
	n.Input = taskInput{p.ses}.with(own, words, files)
	if own == nil && files == nil && len(words) == 1 {
		tr.Words = words[0]
	}
	n.Kwargs = rule.RequestOfTask(&p.ses.task, extra)
	if p.ses.task.HasInput {
		n.Means = append(n.Means, mapping.MeansTask)
	}
	if len(p.ses.task.AdditionalInput) > len("{}") {
		n.Means = append(n.Means, mapping.MeansTaskExtra)
	}
	return n
}

// taskInput is what a run of a task is given of the task.
type taskInput struct{ *session }

// with is an input object with words as its messages and with files, where there are any. Words alone, which may be
// long, are copied once.
func (t taskInput) with(own json.RawMessage, words []string, files json.RawMessage) (input json.RawMessage) {
	switch messages := t.humanMessages(words); {
	case len(words) == 0 && files == nil:
		input, _ = rawjson.WithMembers(own)
	case len(words) == 0:
		input, _ = rawjson.WithMember(own, "files", files)
	case files == nil:
		pieces, _ := rawjson.PiecesAround(own, "messages", messages)
		input = pieces.Join()
	default:
		input, _ = rawjson.WithMembers(own, rawjson.Member{Name: "messages", Value: messages.Join()}, rawjson.Member{Name: "files", Value: files})
	}
	return input
}

// besides adds to uploads the files that additional_input names itself. Of two with one path the upload counts, which
// came later.
func besides(uploads, named json.RawMessage) json.RawMessage {
	var all, over map[string]json.RawMessage
	if json.Unmarshal(named, &all) != nil || all == nil || json.Unmarshal(uploads, &over) != nil {
		return uploads
	}
	maps.Copy(all, over)
	raw, _ := json.Marshal(all)
	return raw
}

// humanMessages are words as messages. The first of a task has the id that it is known by before there is a run,
// whichever side merges it into the state.
func (t taskInput) humanMessages(words []string) (out rawjson.Pieces) {
	for i, w := range words {
		if i == 0 {
			out.Literal("[{")
		} else {
			out.Literal(",{")
		}
		if i == 0 && t.State() == taskUnstarted {
			out.Literal(`"id":`).Text(mapping.MessageID(t.task.ID, "input")).Literal(",")
		}
		out.Literal(`"type":"human","content":`).Text(w).Literal("}")
	}
	return *out.Literal("]")
}
