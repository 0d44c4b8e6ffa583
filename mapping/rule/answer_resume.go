package rule

import (
	"encoding/json"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// ResumeFor converts the text of a task/step client (or the default answer) into the resume value for a question of a
// thread/run agent. A HumanInterrupt gets [{type: accept}] for yes and [{type: response, args}] for text, or for yes if
// it does not allow accept. A question with action_requests gets decisions, any other the text itself. If the question
// has a response_schema, the text becomes a value that fits it.
func ResumeFor(question mapping.Interrupt, text string) json.RawMessage {
	if cards := humanInterrupts(question.Value); len(cards) > 0 {
		out := make([]json.RawMessage, len(cards))
		for i, card := range cards {
			out[i] = cardResponse(card, text)
		}
		return rawjson.Array(out...)
	}
	if requests := decisionRequests(question.Value); len(requests) > 0 {
		out := make([]json.RawMessage, len(requests))
		for i, r := range requests {
			out[i] = decision(question.Value, r, text)
		}
		return rawObject("decisions", rawjson.Array(out...))
	}
	if value, ok := asSchema(question.Schema, text); ok {
		return value
	}
	return rawjson.Quote(text)
}

func cardResponse(card json.RawMessage, text string) json.RawMessage {
	accept := rawjson.Get(rawjson.Get(card, "config"), "allow_accept")
	if IsYes(text) && string(accept) != "false" {
		return json.RawMessage(`{"type":"accept","args":null}`)
	}
	w := new(rawjson.Writer).Open('{').Key("type").Text("response")
	return w.Key("args").Text(text).Close('}').Bytes
}

// decision answers one request. The text is a response if the agent accepts one, or else the reason for a refusal.
func decision(value, request json.RawMessage, text string) json.RawMessage {
	w := new(rawjson.Writer).Open('{').Key("type")
	switch {
	case IsYes(text):
		return w.Text("approve").Close('}').Bytes
	case allowsRespond(value, request):
		w.Text("respond")
	default:
		w.Text("reject")
	}
	return w.Key("message").Text(text).Close('}').Bytes
}

func allowsRespond(value, request json.RawMessage) bool {
	name := firstText(request, "name", "action")
	configs := rawjson.ElementsOf(rawjson.Get(value, "review_configs"))
	for _, c := range configs {
		if firstText(c, "action_name") != name {
			continue
		}
		allowed := rawjson.ElementsOf(rawjson.Get(c, "allowed_decisions"))
		for _, d := range allowed {
			if rawjson.TextOf(d) == "respond" {
				return true
			}
		}
	}
	return false
}
