package rule

import (
	"encoding/json"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// CheckpointMetadata is {source, step, parents, thread_id, run_id} over what an agent said itself of its checkpoint, as
// LangGraph's thread state has it.
func CheckpointMetadata(threadID string, c mapping.Checkpoint) (json.RawMessage, error) {
	own := openFacts(c).Key("parents").Literal("{}").Key("thread_id").Text(threadID)
	if c.RunID != "" {
		own.Key("run_id").Text(c.RunID)
	}
	return MergeMetadata(rawjson.OrEmpty(c.Metadata), own.Close('}').Bytes)
}

// CheckpointFacts is what a search by metadata is matched against: a run_id "" is of what no run made.
func CheckpointFacts(c mapping.Checkpoint) json.RawMessage {
	own := openFacts(c).Key("run_id").Text(c.RunID).Close('}').Bytes
	all, err := MergeMetadata(c.Metadata, own)
	if err != nil {
		return own
	}
	return all
}

func openFacts(c mapping.Checkpoint) *rawjson.Writer {
	return new(rawjson.Writer).Open('{').Key("source").Text(c.Source).Key("step").Int(int64(c.Step))
}

// MadeByRun is the part of the facts that names the run which made a checkpoint.
func MadeByRun(id string) json.RawMessage {
	return new(rawjson.Writer).Open('{').Key("run_id").Text(id).Close('}').Bytes
}

// keyAuthor is the member of a checkpoint's metadata with the node that a client named as its author.
const keyAuthor = "as_node"

// AuthoredBy is the metadata of a checkpoint that a client says a node has made.
func AuthoredBy(node string) json.RawMessage {
	return new(rawjson.Writer).Open('{').Key(keyAuthor).Text(node).Close('}').Bytes
}

// AuthorOf returns the node of AuthoredBy; "" if the client named none, or a run made the checkpoint.
func AuthorOf(c mapping.Checkpoint) string {
	if c.RunID != "" {
		return ""
	}
	node, _ := rawjson.Text(rawjson.Get(c.Metadata, keyAuthor))
	return node
}
