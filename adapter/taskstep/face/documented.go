package face

import (
	"slices"

	"github.com/apbridge/apbridge/mapping"
)

// RequestForTask is the kind of request that creates a task.
const RequestForTask = "task"

// The flavours of the dialect, as stored with runs.
const (
	FlavourTaskStep mapping.Flavour = "taskstep"
	FlavourTopic    mapping.Flavour = "topic" // of a task of a topic
)

// RequestFields returns the request fields of the v1 document (TaskRequestBody, StepRequestBody, ArtifactUpload) and
// those of topics.
func RequestFields() []mapping.RequestField {
	const task, step = RequestForTask, "step"
	return slices.Concat(
		mapping.Fields(task, mapping.CapTask, "input"),
		mapping.Fields(task, mapping.CapTaskExtra, "additional_input"),
		mapping.Fields(task, mapping.CapRecursionLimit, "additional_input.config.recursion_limit"),
		mapping.Fields(task, mapping.CapTranscript, "transcript"),
		mapping.Fields(task, mapping.CapItems, "memory.items"),
		mapping.Fields(task, mapping.CapLinks, "messages.links"),
		mapping.Fields(task, mapping.CapParts, "messages.parts"),
		mapping.Fields(task, mapping.CapSpeaker, "messages.name"),
		mapping.Fields(task, mapping.CapRemarks, "messages.metadata"),
		mapping.Fields(step, mapping.CapStep, "input"),
		mapping.Fields(step, mapping.CapStepExtra, "additional_input"),
		mapping.Fields("artifact", mapping.CapFile, "file"),
		mapping.FixedFields("artifact", mapping.Full("The artifact's folder or path."), "relative_path"),
		mapping.BridgedFields("topic", "name", "additional_input"),
		mapping.Fields("interaction", mapping.CapWords, "input"),
		mapping.BridgedFields("interaction", "role", "additional_input"),
		mapping.BridgedFields("list", "current_page", "page_size"),
	)
}
