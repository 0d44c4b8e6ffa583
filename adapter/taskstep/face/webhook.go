package face

import (
	"encoding/json"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
)

// WebhookBody is what a completion hook of a run made by steps receives. The
// document has no hooks; this is its Task as far as a run knows it, with how
// the run ended:
//
//	{"task_id", "run_id", "input", "additional_input", "status", "is_last",
//	 "output", "error", "created_at", "modified_at"}
//
// status is the run's (success, error, timeout, interrupted); is_last is false
// while the task waits for an answer; output is the last words of the agent or
// null; error is null or {"type", "message"}, as in additional_output.error of
// a failed step; a task of a topic names it in topic_id. Artifacts are to be asked for: they may be large in number.
func WebhookBody(run mapping.Run, out mapping.Outcome, values json.RawMessage) ([]byte, error) {
	input, err := kwargsOf(run)
	if err != nil {
		return nil, err
	}
	text, err := lastWords(values)
	if err != nil {
		return nil, err
	}
	w := new(rawjson.Writer).Open('{').Key("task_id").Text(run.TaskID)
	if run.Flavour == FlavourTopic {
		w.Key("topic_id").Text(run.ThreadID)
	}
	w.Key("run_id").Text(run.ID).Key("input")
	writeNullable(w, input.Input)
	w.Key("additional_input").Raw(input.AdditionalInput, "{}").Key("status").Text(string(out.Status))
	w.Key("is_last").Bool(len(out.Interrupts) == 0).Key("output")
	writeNullable(w, text)
	w.Key("error")
	writeFault(w, out.Fault)
	writeTime(w, "created_at", run.CreatedAt)
	writeTime(w, "modified_at", run.EndedAt)
	return w.Close('}').Bytes, nil
}

func writeFault(w *rawjson.Writer, f *mapping.Fault) {
	if f == nil {
		w.Literal("null")
		return
	}
	w.Open('{').Key("type").Text(f.Code).Key("message").Text(f.Message).Close('}')
}

// kwargsOf reads the task's request back from its run. Kwargs of other shapes,
// of a run of another dialect, count as no input.
func kwargsOf(run mapping.Run) (request, error) {
	var req request
	if len(run.Kwargs) == 0 {
		return req, nil
	}
	var kept struct {
		Input           json.RawMessage `json:"input"`
		AdditionalInput json.RawMessage `json:"additional_input"`
	}
	if err := json.Unmarshal(run.Kwargs, &kept); err != nil {
		return req, err
	}
	var text string
	if json.Unmarshal(kept.Input, &text) == nil && string(kept.Input) != "null" {
		req.Input = &text
	}
	if len(kept.AdditionalInput) > 0 && kept.AdditionalInput[0] == '{' {
		req.AdditionalInput = kept.AdditionalInput
	}
	return req, nil
}

// lastWords is the text of the newest message of the agent, nil for none.
func lastWords(values json.RawMessage) (*string, error) {
	fold, err := state.NewFold(values)
	if err != nil {
		return nil, err
	}
	messages := fold.Messages()
	for i := len(messages) - 1; i >= 0; i-- {
		var kind struct {
			Type string `json:"type"`
			Role string `json:"role"`
		}
		if json.Unmarshal(messages[i], &kind) != nil || rule.SaysOnlySkipped(messages[i]) {
			continue
		}
		if kind.Type == "ai" || kind.Type == "AIMessageChunk" || kind.Role == "assistant" {
			text := rule.MessageText(messages[i])
			return &text, nil
		}
	}
	return nil, nil
}
