package mapping

import (
	"encoding/json"
	"strings"
)

// ArtifactID is the id of the artifact under a canonical path of a thread:
// writing a path again keeps its id.
func ArtifactID(threadID, path string) string { return MessageID(threadID, "artifact:"+path) }

// NodeDelta is one node's part of an update.
type NodeDelta struct {
	Node  string
	Delta json.RawMessage
}

// NodeDeltas splits the data of an update event by node. Where one update
// speaks for several nodes (their names joined by "+"), its data is an object
// of their deltas; else the data is the one delta itself.
func NodeDeltas(node string, data json.RawMessage) []NodeDelta {
	if !strings.Contains(node, "+") {
		return []NodeDelta{{node, data}}
	}
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(data, &parts); err != nil {
		return []NodeDelta{{node, data}}
	}
	var list []NodeDelta
	for _, name := range strings.Split(node, "+") {
		delta, ok := parts[name]
		if !ok {
			return []NodeDelta{{node, data}}
		}
		list = append(list, NodeDelta{name, delta})
	}
	return list
}

// FilesOfDelta is the files object of an update's data; of several nodes the
// last one that has files. nil when there are none.
func FilesOfDelta(data json.RawMessage, node string) json.RawMessage {
	var files json.RawMessage
	for _, part := range NodeDeltas(node, data) {
		var d struct {
			Files json.RawMessage `json:"files"`
		}
		if json.Unmarshal(part.Delta, &d) == nil && len(d.Files) > 0 && d.Files[0] == '{' {
			files = d.Files
		}
	}
	return files
}
