package rule

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// MergeConfig returns the config of an assistant with the members of a request's config. The members of configurable
// are merged individually. Members that are null are ignored. Either config may be nil or null. The result is nil if
// both are.
func MergeConfig(base, over json.RawMessage) (json.RawMessage, error) {
	return mergeOver(base, over, "configurable")
}

// MergeContext is like MergeConfig, but merges only top-level members.
func MergeContext(base, over json.RawMessage) (json.RawMessage, error) {
	return mergeOver(base, over, "")
}

// mostThreadConfig is the maximum size of ThreadConfig in bytes.
const mostThreadConfig = 16 << 10

// ThreadConfig returns the config that a thread has after a run was created on it, as on LangGraph's servers. The
// thread's config overrides the assistant's, and the request's overrides both. assistant and request are results of
// LastingConfig. If the new config would exceed 16 KiB, the thread keeps its old one.
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

// LastingConfig returns the part of a config that a thread keeps, without credentials and without the ids of runs and
// checkpoints. It returns nil if nothing is left or if the config exceeds 16 KiB.
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

// MergeMetadata returns base with the top-level members of patch. It combines the metadata of threads, assistants and
// requests. Either may be nil or null. The result is an object, never nil. A patch that is not an object is an *Error
// of class Invalid.
func MergeMetadata(base, patch json.RawMessage) (json.RawMessage, error) {
	merged, err := rawjson.Merge(base, patch, nil)
	if err != nil {
		return nil, mapping.InvalidAt("metadata", "must be an object")
	}
	return merged, nil
}

// MadeFor returns the metadata of objects for an agent. Clients search threads and runs by it.
func MadeFor(agent, assistantID string) json.RawMessage {
	return new(rawjson.Writer).Open('{').Key("graph_id").Text(agent).Key("assistant_id").Text(assistantID).Close('}').Bytes
}

// MadeForAssistant returns the part of that metadata that names the assistant.
func MadeForAssistant(id string) json.RawMessage {
	return new(rawjson.Writer).Open('{').Key("assistant_id").Text(id).Close('}').Bytes
}

// MadeByCron returns the metadata of a cron's run.
func MadeByCron(id string) json.RawMessage {
	return new(rawjson.Writer).Open('{').Key("cron_id").Text(id).Close('}').Bytes
}

// MadeForTask is MadeFor for a task's own thread, with a mark that identifies the task.
func MadeForTask(agent, assistantID, taskID string) json.RawMessage {
	mark := new(rawjson.Writer).Open('{').Key("task_id").Text(taskID).Close('}').Bytes
	metadata, _ := rawjson.WithMember(MadeFor(agent, assistantID), "apbridge", mark) // it is an object
	return metadata
}

// StepLimit returns the maximum number of steps in a config (recursion_limit), or 0.
func StepLimit(config json.RawMessage) int {
	var limit int
	if json.Unmarshal(rawjson.Get(config, "recursion_limit"), &limit) != nil {
		return 0
	}
	return max(0, limit)
}

// mergeOver merges the members of over into base. If both have the member named deep, its members are merged too.
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
