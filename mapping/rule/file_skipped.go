package rule

import (
	"encoding/json"
	"fmt"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

const (
	// keySkipped is the member with the skipped files, in additional_kwargs.apbridge of a step's message, and in a v1
	// step's additional_output.
	keySkipped = "skipped_files"
	maxSkipped = 100 // maximum number of files that a step names
)

// withSkipped adds the list of skipped files to a step's additional output, an object or nil. Existing entries are
// kept, because the agent may itself be a bridge.
func withSkipped(additional json.RawMessage, files []mapping.SkippedFile) json.RawMessage {
	if len(files) == 0 {
		return additional
	}
	var o rawjson.Object
	_ = o.PutAll(additional)
	list := rawjson.ElementsOf(o.Get(keySkipped))
	for _, f := range files[:min(len(files), maxSkipped)] {
		list = append(list, skippedJSON(f))
	}
	if more := len(files) - maxSkipped; more > 0 {
		list = append(list, skippedJSON(mapping.SkippedFile{Reason: fmt.Sprintf("%d more files were skipped.", more)}))
	}
	o.Put(rawjson.Member{Name: keySkipped, Value: rawjson.Array(list...)})
	return o.JSON()
}

func skippedJSON(f mapping.SkippedFile) json.RawMessage {
	w := new(rawjson.Writer).Open('{')
	if f.Path != "" {
		w.Key("path").Text(f.Path)
	}
	if f.Remote != "" {
		w.Key("upstream_artifact_id").Text(f.Remote)
	}
	return w.Key("reason").Text(f.Reason).Close('}').Bytes
}

// SaysOnlySkipped reports whether a message of a state has no text and only names skipped files. It does not count as
// the agent's last message.
func SaysOnlySkipped(message json.RawMessage) bool {
	if rawjson.Kind(message) != '{' || MessageText(message) != "" {
		return false
	}
	return rawjson.Get(rawjson.Get(rawjson.Get(message, "additional_kwargs"), "apbridge"), keySkipped) != nil
}
