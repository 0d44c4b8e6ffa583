package rule

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/credential"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// CheckpointMetadata returns the metadata of a checkpoint in the form of LangGraph's thread state, which searches also
// match. It consists of the facts of the checkpoint's run, overridden by the agent's own metadata, overridden by
// {source, step, parents, thread_id, run_id, as_node}. A checkpoint without a run has no run_id. Only an update with a
// node named by a client has as_node.
func CheckpointMetadata(threadID string, c mapping.Checkpoint) json.RawMessage {
	own := new(rawjson.Writer).Open('{').Key("source").Text(c.Source).Key("step").Int(int64(c.Step))
	own.Key("parents").Literal("{}").Key("thread_id").Text(threadID)
	if c.RunID != "" {
		own.Key("run_id").Text(c.RunID)
	}
	if c.AsNode != "" {
		own.Key("as_node").Text(c.AsNode)
	}
	all := own.Close('}').Bytes
	for _, under := range []json.RawMessage{c.Metadata, c.Facts} {
		if merged, err := rawjson.Merge(under, all, nil); err == nil { // otherwise an agent's metadata is not an object
			all = merged
		}
	}
	return all
}

// MadeByRun returns the part of the metadata that names the run of a checkpoint.
func MadeByRun(id string) json.RawMessage {
	return new(rawjson.Writer).Open('{').Key("run_id").Text(id).Close('}').Bytes
}

// mostFacts is the maximum size of RunFacts in bytes.
const mostFacts = 16 << 10

// RunFacts returns the metadata that LangGraph's servers store about a run with each of its checkpoints: the plain
// values of its configurable, the earlier checkpoint at which it began, its metadata, and its attempt. Credentials of
// the configurable are omitted. Members that would exceed 16 KiB are also omitted, because every checkpoint stores the
// facts.
func RunFacts(r *mapping.Run) json.RawMessage {
	var facts rawjson.Object
	fits := func(name rawjson.Quoted, value json.RawMessage) bool {
		return facts.Size()+len(name)+len(value) < mostFacts
	}
	put := func(name rawjson.Quoted, value json.RawMessage) {
		if fits(name, value) {
			facts.Put(rawjson.Member{Name: name.Text(), Value: value})
		}
	}
	_ = rawjson.EachMember(rawjson.Get(r.Options.Config, "configurable"), func(name rawjson.Quoted, value json.RawMessage) {
		if fits(name, value) && isPlainFact(name.Text(), value) { // in this order, because isPlainFact copies the value
			put(name, value)
		}
	})
	if from := r.Options.Checkpoint; from != "" {
		facts.Put(rawjson.Member{Name: "checkpoint_id", Value: rawjson.Quote(from)})
	}
	_ = rawjson.EachMember(r.Metadata, put)
	facts.Put(rawjson.Member{Name: "run_attempt", Value: new(rawjson.Writer).Int(int64(max(1, r.Attempt))).Bytes})
	return facts.JSON()
}

// isPlainFact reports whether a member of a configurable is a plain value that checkpoints may show.
func isPlainFact(name string, value json.RawMessage) bool {
	switch rawjson.Kind(value) {
	case '{', '[', 'n':
		return false
	}
	return !strings.HasPrefix(name, "__") && !slices.Contains(placeKeys, name) && !isCredential(name, value)
}

// UpdateFacts returns the facts of a state update: the graph of the thread, if its metadata names one.
func UpdateFacts(thread json.RawMessage) json.RawMessage {
	graph := rawjson.Get(thread, "graph_id")
	if rawjson.Kind(graph) != '"' {
		return nil
	}
	return new(rawjson.Writer).Open('{').Key("graph_id").Raw(graph, "null").Close('}').Bytes
}

// placeKeys are members of a configurable that name the checkpoint at which a run begins.
var placeKeys = []string{"checkpoint_id", "checkpoint_ns", "checkpoint_map", "thread_ts"}

// AgentMetadata returns an agent's metadata for a checkpoint without the named members. The metadata may contain a
// run's configurable. Its credentials are omitted, and so is the checkpoint at which the run began, which has ids of
// the agent.
func AgentMetadata(metadata json.RawMessage, names ...string) json.RawMessage {
	return without(metadata, func(name string, value json.RawMessage) bool {
		return slices.Contains(names, name) || slices.Contains(placeKeys, name) || isCredential(name, value)
	})
}

// WithoutCredentials returns an agent's metadata of a checkpoint within its graph without the credentials of a run's
// configurable. The place stays, because clients send it back to the agent.
func WithoutCredentials(metadata json.RawMessage) json.RawMessage {
	return without(metadata, isCredential)
}

// without returns an object without the members that drop selects, or an empty one for anything else.
func without(object json.RawMessage, drop func(name string, value json.RawMessage) bool) json.RawMessage {
	w := new(rawjson.Writer).Open('{')
	_ = rawjson.EachMember(object, func(name rawjson.Quoted, value json.RawMessage) {
		if text := name.Text(); !drop(text, value) {
			w.Name(text).Raw(value, "null")
		}
	})
	return w.Close('}').Bytes
}

// isCredential reports whether a member is hidden in copies of a request, because of its name or the form of its value.
func isCredential(name string, value json.RawMessage) bool {
	member := new(rawjson.Writer).Open('{').Name(name).Raw(value, "null").Close('}').Bytes
	return !bytes.Equal(credential.Set(nil).HideBytes(member), member)
}
