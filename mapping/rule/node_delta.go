package rule

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/state"
)

// ArtifactID returns the id of the artifact at a canonical path of a thread. It depends only on the two, so writing a
// path again keeps the id.
func ArtifactID(threadID, path string) string { return mapping.MessageID(threadID, "artifact:"+path) }

// NodeDelta is one node's part of an update.
type NodeDelta struct {
	Node  string
	Delta json.RawMessage
}

// NodeDeltas splits the data of an update event by node. In an update of several nodes, the node is their names joined
// by "+", and the data is {name: delta} in the same order. The same form is used for a node with "+" in its name. Any
// other data is one delta.
func NodeDeltas(node string, data json.RawMessage) []NodeDelta {
	whole := []NodeDelta{{node, data}}
	if !strings.Contains(node, "+") {
		return whole
	}
	parts, err := rawjson.Members(data)
	if err != nil {
		return whole
	}
	names, list := make([]string, len(parts)), make([]NodeDelta, len(parts))
	for i, m := range parts {
		names[i], list[i] = m.Name, NodeDelta{m.Name, m.Value}
	}
	if strings.Join(names, "+") != node {
		return whole
	}
	return list
}

// FilesOfDelta returns the files object of an update's data: the merged files of all its nodes, or nil.
func FilesOfDelta(data json.RawMessage, node string) json.RawMessage {
	if !bytes.Contains(data, []byte(state.KeyFiles)) && !bytes.Contains(data, []byte(`\u`)) { // the name may be escaped
		return nil
	}
	var found []json.RawMessage
	for _, part := range NodeDeltas(node, data) {
		if files := rawjson.Get(part.Delta, state.KeyFiles); rawjson.Kind(files) == '{' {
			found = append(found, files)
		}
	}
	switch len(found) {
	case 0:
		return nil
	case 1:
		return found[0]
	}
	var all rawjson.Object
	for _, files := range found {
		_ = all.PutAll(files)
	}
	return all.JSON()
}
