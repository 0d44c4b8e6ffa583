package rule

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/google/uuid"
)

// Topic is a thread in the form for clients of the Topic RFC.
type Topic struct {
	ID                   string
	Name                 *string
	AdditionalInput      json.RawMessage // an object
	Status               mapping.ThreadStatus
	Memory               json.RawMessage // an object: see TopicMemory
	Artifacts            []mapping.Artifact
	CreatedAt, UpdatedAt time.Time
}

// topicKeys are the keys of a thread's metadata that do not belong to a topic's additional_input.
var topicKeys = [...]string{"name", "graph_id", "assistant_id", "apbridge"}

// TopicMetadata returns the metadata of a topic's thread: its name, and the keys of additional_input (an object or
// nil). If additional_input has a key that the bridge reserves (name, graph_id, assistant_id, apbridge), it returns an
// *Error of class Invalid.
func TopicMetadata(name *string, additional json.RawMessage) (json.RawMessage, error) {
	var o rawjson.Object
	if name != nil {
		o.Put(rawjson.Member{Name: "name", Value: rawjson.Quote(*name)})
	}
	if len(additional) > 0 {
		if err := o.PutAll(additional); err != nil {
			return nil, mapping.InvalidAt("additional_input", "must be an object")
		}
	}
	for _, key := range topicKeys {
		if rawjson.Get(additional, key) != nil {
			return nil, mapping.InvalidAt("additional_input", "the key %q is reserved by the bridge; send a topic's name as name, and its agent in the path", key)
		}
	}
	return o.JSON(), nil
}

// TopicOf returns the thread as a topic, without Memory and Artifacts.
func TopicOf(t mapping.Thread) Topic {
	topic := Topic{ID: t.ID, Status: t.Status, CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt}
	if name, ok := rawjson.Text(rawjson.Get(t.Metadata, "name")); ok {
		topic.Name = &name
	}
	var o rawjson.Object
	_ = o.PutAll(t.Metadata)
	gone := map[string]bool{}
	for _, key := range topicKeys {
		if key != "name" || topic.Name != nil {
			gone[key] = true
		}
	}
	o.Drop(gone)
	topic.AdditionalInput = o.JSON()
	return topic
}

// OwnTopic reports whether a thread is a topic of this agent. A topic that no agent has used yet belongs to every
// agent.
func OwnTopic(metadata json.RawMessage, agent string) bool {
	return rawjson.IsNull(rawjson.Get(metadata, agentMember)) || AgentNamed(metadata) == agent
}

// TopicNamespace returns the namespace of a topic in the long-term store.
func TopicNamespace(topicID string) []string { return []string{"topics", topicID} }

// TopicMemory returns a topic's memory for reading: the values of its state other than messages and files, and the
// items of its namespace under their keys (items of a namespace below it: labels and key joined by "/"). If both have a
// key, the state's value takes precedence.
func TopicMemory(values json.RawMessage, topicID string, items []mapping.Item) json.RawMessage {
	var o rawjson.Object
	skip := len(TopicNamespace(topicID))
	for _, it := range items {
		if len(it.Namespace) >= skip {
			path := append(append([]string{}, it.Namespace[skip:]...), it.Key)
			o.Put(rawjson.Member{Name: strings.Join(path, "/"), Value: it.Value})
		}
	}
	_ = rawjson.EachMember(values, func(name rawjson.Quoted, value json.RawMessage) {
		if !name.Is(state.KeyMessages) && !name.Is(state.KeyFiles) {
			o.Put(rawjson.Member{Name: name.Text(), Quoted: name, Value: value})
		}
	})
	return o.JSON()
}

// TopicMessage returns an interaction that only adds to a topic's state, as a message of a state. id must not be empty.
func TopicMessage(id string, role Role, text string, additional json.RawMessage) json.RawMessage {
	m := message{kind: typeHuman, id: id, content: rawjson.Quote(text)}
	switch role {
	case RoleAgent:
		m.kind = typeAI
	case RoleSystem:
		m.kind = typeSystem
	}
	if rawjson.Kind(additional) == '{' {
		m.rest.Put(rawjson.Member{Name: "additional_kwargs", Value: rawObject("apbridge", additional)})
	}
	return m.json()
}

// MessageTime returns the creation time of a message from its id, with a precision of milliseconds. It returns zero for
// an id that is not from NewID.
func MessageTime(id string) time.Time {
	u, err := uuid.Parse(id)
	if err != nil || u.Version() != 7 {
		return time.Time{}
	}
	return time.Unix(u.Time().UnixTime()).UTC().Truncate(time.Millisecond)
}

// TaskStrategy reads the multitask_strategy of a task. In addition to the names of strategies it accepts sequence and
// parallel from the Topic RFC ("Interaction Flow", 3).
func TaskStrategy(said string) mapping.Strategy {
	switch said {
	case "sequence":
		return mapping.StrategyEnqueue
	case "parallel":
		return mapping.StrategyConcurrent
	}
	return mapping.Strategy(said)
}
