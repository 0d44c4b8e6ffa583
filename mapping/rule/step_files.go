package rule

import (
	"encoding/json"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/state"
)

// FilesUpdate returns the update for changes to a task/step agent's files that belong to no step. They happened after
// the newest step of a run that ended without a last one. files is the object of changed files, or nil. A message
// without text names the skipped files. The update is written with the end of the run.
func FilesUpdate(runID string, files json.RawMessage, skipped []mapping.SkippedFile) mapping.Event {
	delta := new(rawjson.Writer).Open('{')
	if len(skipped) > 0 {
		said := message{kind: typeAI, id: mapping.MessageID(runID, keySkipped), content: rawjson.Quote("")}
		said.note(withSkipped(nil, skipped))
		delta.Key(state.KeyMessages).Array([]json.RawMessage{said.json()})
	}
	if !rawjson.IsNull(files) {
		delta.Key(state.KeyFiles).Raw(files, "null")
	}
	return mapping.Event{RunID: runID, Kind: mapping.KindUpdate, Head: mapping.Head{Node: StepNode, Reduce: true}, Data: delta.Close('}').Bytes, WithEnd: true}
}

// isEndUpdate reports whether an event is a FilesUpdate or a FaultUpdate, as opposed to a step or a graph's node.
func isEndUpdate(ev *mapping.Event) bool {
	return ev.Kind == mapping.KindUpdate && ev.Head.Reduce && ev.Head.Step == nil
}

// skippedIn returns the list of skipped files of a FilesUpdate, or nil.
func skippedIn(ev *mapping.Event) json.RawMessage {
	list, _ := state.MessagesIn(rawjson.Get(ev.Data, state.KeyMessages))
	if len(list) == 0 {
		return nil
	}
	return rawjson.Get(rawjson.Get(rawjson.Get(list[0], "additional_kwargs"), "apbridge"), keySkipped)
}

// skippedAtEnd returns the skipped files of the FilesUpdate among the events of a run, or nil.
func skippedAtEnd(told []*state.Entry) json.RawMessage {
	for i := len(told) - 1; i >= 0 && i >= len(told)-3; i-- {
		if !isEndUpdate(&told[i].Event) {
			continue
		}
		if skipped := skippedIn(&told[i].Event); skipped != nil {
			return skipped
		}
	}
	return nil
}
