package mapping

import (
	"encoding/json"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

// FilesUpdate is the logged form of what became of a task/step agent's files when no step
// tells of it: after the newest step of a run that ended without a last one. files is the
// object of changed files or nil; skipped is told in a message without words. It is
// written with the end of the run.
func FilesUpdate(runID string, files json.RawMessage, skipped []SkippedFile) Event {
	delta := new(rawjson.Writer).Open('{')
	if len(skipped) > 0 {
		delta.Key(keyMessages).Array([]json.RawMessage{stepMessage(MessageID(runID, keySkipped), "", withSkipped(nil, skipped))})
	}
	if !rawjson.IsNull(files) {
		delta.Key(keyFiles).Raw(files, "null")
	}
	return Event{RunID: runID, Kind: KindUpdate, Head: Head{Node: stepNode(StepInfo{}), Reduce: true}, Data: delta.Close('}').Bytes, WithEnd: true}
}

// isFilesUpdate tells a FilesUpdate from a step and from a graph's node.
func isFilesUpdate(ev Event) bool {
	return ev.Kind == KindUpdate && ev.Head.Reduce && ev.Head.Step == nil
}

// skippedIn is the list of skipped files of a FilesUpdate, or nil.
func skippedIn(ev Event) json.RawMessage {
	list, _ := messagesIn(rawjson.Get(ev.Data, keyMessages))
	if len(list) == 0 {
		return nil
	}
	return rawjson.Get(rawjson.Get(rawjson.Get(list[0], "additional_kwargs"), "apbridge"), keySkipped)
}

// skippedAtEnd is skippedIn of what a run has told, its end included.
func skippedAtEnd(told []*Entry) json.RawMessage {
	for i := len(told) - 1; i >= 0 && i >= len(told)-2; i-- {
		if isFilesUpdate(told[i].Event) {
			return skippedIn(told[i].Event)
		}
	}
	return nil
}
