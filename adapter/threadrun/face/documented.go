package face

import (
	"slices"
	"strings"

	"github.com/apbridge/apbridge/mapping"
)

// RequestFields returns the request fields in the Agent Protocol's REST document (RunCreate, ThreadCreate, ThreadPatch,
// the searches, the store) and those that LangGraph's SDKs add.
func RequestFields() []mapping.RequestField {
	return slices.Concat(runRequestFields(), foundLost(), threadRequestFields(), otherRequestFields())
}

// RequestForRun is the kind of request that creates a run.
const RequestForRun = "run"

func runRequestFields() []mapping.RequestField {
	const run = RequestForRun
	noHint := mapping.None("A hint that cannot change the result. It is accepted and has no effect.")
	return slices.Concat(
		mapping.BridgedFields(run, "assistant_id", "agent_id", "thread_id", "metadata", "webhook", "multitask_strategy",
			"on_completion", "on_disconnect", "after_seconds", "if_not_exists", "stream_resumable", "strict_resume"),
		mapping.Fields(run, mapping.CapInput, "input"),
		mapping.Fields(run, mapping.CapMessages, "messages"),
		mapping.Fields(run, mapping.CapCommand, "command"),
		mapping.Fields(run, mapping.CapAnswer, "command.resume"),
		mapping.Fields(run, mapping.CapUpdate, "command.update"),
		mapping.Fields(run, mapping.CapGoto, "command.goto"),
		mapping.Fields(run, mapping.CapConfig, "config"),
		mapping.Fields(run, mapping.CapRecursionLimit, "config.recursion_limit"),
		mapping.Fields(run, mapping.CapConfigurable, "config.configurable"),
		mapping.Fields(run, mapping.CapTags, "config.tags"),
		mapping.Fields(run, mapping.CapContext, "context"),
		mapping.Fields(run, mapping.CapStreamModes, "stream_mode"),
		mapping.Fields(run, mapping.CapSubgraphs, "stream_subgraphs"),
		mapping.Fields(run, mapping.CapStopBefore, "interrupt_before"),
		mapping.Fields(run, mapping.CapStopAfter, "interrupt_after"),
		mapping.Fields(run, mapping.CapFork, "checkpoint", "checkpoint_id"),
		mapping.FixedFields(run, noHint, "durability", "checkpoint_during", "feedback_keys", "langsmith_tracer"),
	)
}

// foundLost returns names for losses of a run that have no request field. No body has such members.
func foundLost() []mapping.RequestField {
	const run = RequestForRun
	return slices.Concat(
		mapping.Fields(run, mapping.CapTranscript, "transcript"),
		mapping.Fields(run, mapping.CapItems, "memory.items"),
		mapping.Fields(run, mapping.CapLinks, "messages.links"),
		mapping.Fields(run, mapping.CapParts, "messages.parts"),
		mapping.Fields(run, mapping.CapSpeaker, "messages.name"),
		mapping.Fields(run, mapping.CapRemarks, "messages.metadata"),
	)
}

func threadRequestFields() []mapping.RequestField {
	const patch, update = "thread patch", "state update"
	return slices.Concat(
		mapping.BridgedFields("thread", "thread_id", "metadata", "if_exists", "ttl", "supersteps"),
		mapping.Fields(patch, mapping.CapState, "values", "messages"),
		mapping.BridgedFields(patch, "metadata", "checkpoint", "ttl"),
		mapping.Fields(update, mapping.CapState, "values"),
		mapping.Fields(update, mapping.CapAuthor, "as_node"),
		mapping.BridgedFields(update, "checkpoint", "checkpoint_id"),
	)
}

func otherRequestFields() []mapping.RequestField {
	return slices.Concat(
		mapping.BridgedFields("search", "metadata", "values", "ids", "status", "name", "graph_id", "agent_id", "thread_id",
			"limit", "offset", "sort_by", "sort_order", "select", "extract"),
		mapping.BridgedFields("assistant", "assistant_id", "graph_id", "name", "description", "metadata", "config", "context",
			"if_exists", "version", "delete_threads"),
		mapping.BridgedFields("history", "limit", "before", "metadata", "checkpoint", "select"),
		mapping.BridgedFields("store", "namespace", "key", "value", "index", "ttl", "namespace_prefix", "filter", "query", "search_by",
			"sort_by", "sort_order", "refresh_ttl", "prefix", "suffix", "max_depth", "limit", "offset"),
		mapping.BridgedFields("cancel", "wait", "action", "reason"),
		mapping.BridgedFields("stream", "namespace", "checkpoint_id"),
	)
}

// runFields are the documented members of a request for a run, in all flavours. Others are ignored.
var runFields = membersOf(runRequestFields())

// membersOf returns the names of the fields at the top of a body.
func membersOf(list []mapping.RequestField) []string {
	var names []string
	for _, f := range list {
		if !strings.Contains(f.Name, ".") {
			names = append(names, f.Name)
		}
	}
	return names
}
