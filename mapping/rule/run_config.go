package rule

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// MergeConfig returns base, the config of an assistant, with that of a request for a run laid over it: member by
// member, those of configurable one by one; null says nothing. Either may be nil or null; the result is nil when both
// are.
func MergeConfig(base, over json.RawMessage) (json.RawMessage, error) {
	return mergeOver(base, over, "configurable")
}

// MergeContext does the same for context, which has no parts of its own.
func MergeContext(base, over json.RawMessage) (json.RawMessage, error) {
	return mergeOver(base, over, "")
}

// mostThreadConfig bounds ThreadConfig in bytes.
const mostThreadConfig = 16 << 10

// ThreadConfig returns the config of a thread after a run was made on it, as LangGraph's servers keep it: that of the
// run's assistant, under the thread's own, under that of the request; both are LastingConfig. A thread keeps its config
// if the new one would be longer than 16 KiB.
func ThreadConfig(thread, assistant, request json.RawMessage) json.RawMessage {
	all, err := MergeConfig(assistant, thread)
	if err == nil {
		all, err = MergeConfig(all, request)
	}
	if err != nil || len(all) > mostThreadConfig {
		return thread
	}
	return all
}

// LastingConfig returns the part of a config that ThreadConfig is made of: without credentials, and without the ids of
// runs and checkpoints. It is nil for none, and for a config that is longer than a thread's may be.
func LastingConfig(config json.RawMessage) json.RawMessage {
	if rawjson.Kind(config) != '{' || len(config) > mostThreadConfig {
		return nil
	}
	kept := without(config, isCredential)
	configurable := without(rawjson.Get(config, "configurable"), func(name string, value json.RawMessage) bool {
		return strings.HasPrefix(name, "__") || slices.Contains(placeKeys, name) || slices.Contains(idKeys, name) || name == BridgeMember || isCredential(name, value)
	})
	if string(configurable) == "{}" {
		configurable = nil
	}
	kept, err := rawjson.WithMembers(kept, rawjson.Member{Name: "configurable", Value: configurable})
	if err != nil || string(kept) == "{}" {
		return nil
	}
	return kept
}

// MergeMetadata returns base with the top-level members of patch set in it: how metadata of threads, assistants and
// requests come together. Either may be nil or null; the result is an object, never nil. A patch that is no object is
// an *Error of class Invalid.
func MergeMetadata(base, patch json.RawMessage) (json.RawMessage, error) {
	merged, err := rawjson.Merge(base, patch, nil)
	if err != nil {
		return nil, mapping.InvalidAt("metadata", "must be an object")
	}
	return merged, nil
}

// MadeFor returns the metadata of what is made for an agent: clients search threads and runs by it.
func MadeFor(agent, assistantID string) json.RawMessage {
	return new(rawjson.Writer).Open('{').Key("graph_id").Text(agent).Key("assistant_id").Text(assistantID).Close('}').Bytes
}

// MadeForAssistant returns the part of that metadata which names the assistant.
func MadeForAssistant(id string) json.RawMessage {
	return new(rawjson.Writer).Open('{').Key("assistant_id").Text(id).Close('}').Bytes
}

// MadeByCron is the metadata of a run that a cron makes.
func MadeByCron(id string) json.RawMessage {
	return new(rawjson.Writer).Open('{').Key("cron_id").Text(id).Close('}').Bytes
}

// MadeForTask is MadeFor of the thread that a task has of its own, with a mark of where it came from.
func MadeForTask(agent, assistantID, taskID string) json.RawMessage {
	mark := new(rawjson.Writer).Open('{').Key("task_id").Text(taskID).Close('}').Bytes
	metadata, _ := rawjson.WithMember(MadeFor(agent, assistantID), "apbridge", mark) // it is an object
	return metadata
}

// StepLimit returns how many steps a config allows a run (recursion_limit); 0 where it does not say.
func StepLimit(config json.RawMessage) int {
	var limit int
	if json.Unmarshal(rawjson.Get(config, "recursion_limit"), &limit) != nil {
		return 0
	}
	return max(0, limit)
}

// mergeOver puts the members of over into base; the one called deep is merged itself, where both have it.
func mergeOver(base, over json.RawMessage, deep string) (json.RawMessage, error) {
	if rawjson.IsNull(base) && rawjson.IsNull(over) {
		return nil, nil
	}
	was, err := rawjson.WithoutNulls(base)
	said, err2 := rawjson.WithoutNulls(over)
	if err = cmp.Or(err, err2); err == nil {
		said, err = rawjson.Merge(was, said, func(name string, base, over json.RawMessage) (json.RawMessage, error) {
			if name != deep {
				return over, nil
			}
			return MergeMetadata(base, over)
		})
	}
	if err != nil {
		return nil, mapping.Invalidf("config, its configurable and context must be objects")
	}
	return said, nil
}
