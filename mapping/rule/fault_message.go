package rule

import (
	"encoding/json"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/state"
)

// keyFault is the member with the reason why a run failed, in additional_kwargs.apbridge of the message about it, and
// in a v1 step's additional_output.
const keyFault = "error"

// FaultUpdate returns the update with a message about a failed run, for the state of a task/step agent's thread,
// because some pages show nothing but messages. It is not a step, and is written with the end of the run. The message
// is never sent to the agent; see IsFaultMessage.
func FaultUpdate(runID string, fault mapping.Fault) mapping.Event {
	w := new(rawjson.Writer).Open('{').Key(keyFault).Open('{')
	mark := w.Key("type").Text(fault.Code).Key("message").Text(fault.Message).Key("run_id").Text(runID).Close('}').Close('}').Bytes
	said := message{kind: typeAI, id: faultID(runID), content: rawjson.Quote("Error: " + fault.Message)}
	said.note(mark)
	return mapping.Event{
		RunID: runID, Kind: mapping.KindUpdate, Head: mapping.Head{Node: StepNode, Reduce: true},
		Data: rawObject(state.KeyMessages, rawjson.Array(said.json())), WithEnd: true,
	}
}

func faultID(runID string) string { return mapping.MessageID(runID, keyFault) }

// IsFaultMessage reports whether a message of a state comes from a FaultUpdate, so that the agent did not write it. It
// returns false for a step that reports a failure.
func IsFaultMessage(message json.RawMessage) bool {
	if rawjson.Kind(message) != '{' {
		return false
	}
	fault := rawjson.Get(rawjson.Get(rawjson.Get(message, "additional_kwargs"), "apbridge"), keyFault)
	run, _ := rawjson.Text(rawjson.Get(fault, "run_id"))
	return run != "" && state.IDOfMessage(message) == faultID(run)
}

// FaultOf returns the reason for a run's failure from a FaultUpdate, or "" for any other event.
func FaultOf(ev *mapping.Event) string {
	if !isEndUpdate(ev) {
		return ""
	}
	list, _ := state.MessagesIn(rawjson.Get(ev.Data, state.KeyMessages))
	if len(list) != 1 || !IsFaultMessage(list[0]) {
		return ""
	}
	fault := rawjson.Get(rawjson.Get(rawjson.Get(list[0], "additional_kwargs"), "apbridge"), keyFault)
	text, _ := rawjson.Text(rawjson.Get(fault, "message"))
	return text
}
