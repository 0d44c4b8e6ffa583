package face

import (
	"encoding/json"
	"slices"

	"github.com/apbridge/apbridge/adapter/a2a/wire"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// RequestForTask is the kind of request that creates a task.
const RequestForTask = "message"

// The flavours of the dialect, one for each version: hooks keep the version in which they are notified.
const (
	FlavourV1  mapping.Flavour = "a2a"
	FlavourV03 mapping.Flavour = "a2a-0.3"
)

func flavourOf(v wire.Version) mapping.Flavour {
	if v == wire.V1 {
		return FlavourV1
	}
	return FlavourV03
}

// fieldAnswerFiles is the name for raw and url parts of an answer.
const fieldAnswerFiles = "answer.files"

// RequestFields returns the fields of the requests (a2a.proto, SendMessageRequest and others).
func RequestFields() []mapping.RequestField {
	const message = RequestForTask
	return slices.Concat(
		mapping.Fields(message, mapping.CapWords, "parts.text"),
		mapping.Fields(message, mapping.CapData, "parts.data"),
		mapping.Fields(message, mapping.CapLinks, "parts.url"),
		mapping.Fields(message, mapping.CapAnswerFiles, fieldAnswerFiles),
		mapping.Fields(message, mapping.CapConfigurable, "metadata"),
		mapping.Fields(message, mapping.CapTranscript, "transcript"),
		mapping.Fields(message, mapping.CapItems, "memory.items"),
		mapping.FixedFields(message, mapping.None("It is kept with the request and not passed on."), "referenceTaskIds", "parts.metadata", "message.metadata", "message.extensions"),
		mapping.FixedFields(message, mapping.Full("The agent gets it as a file, or as part of the message."), "parts.raw"),
		mapping.BridgedFields(message, "messageId", "contextId", "taskId", "configuration.acceptedOutputModes", "configuration.historyLength",
			"configuration.returnImmediately", "configuration.taskPushNotificationConfig"),
		mapping.BridgedFields("task query", "contextId", "pageSize", "pageToken", "historyLength", "statusTimestampAfter", "includeArtifacts"),
		mapping.FixedFields("task query", mapping.Partial("TASK_STATE_WORKING also finds tasks that wait for an authorization. TASK_STATE_AUTH_REQUIRED finds none."), "status"),
		mapping.BridgedFields("push notification", "id", "token", "authentication"),
		mapping.FixedFields("push notification", mapping.Partial("Statuses are posted, and the task at its end. Artifacts, TASK_STATE_AUTH_REQUIRED and reports of a working agent are not."), "url"),
	)
}

// questionMembers are the members of a message's metadata that name a question.
var questionMembers = []string{"interruptId", "interrupt_id"}

// fieldsOf returns the names of the documented fields that a request has.
func fieldsOf(q *wire.SendMessageRequest) []string {
	var list []string
	add := func(name string) {
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	for _, p := range q.Message.Parts {
		add(map[wire.PartKind]string{wire.PartText: "parts.text", wire.PartRaw: "parts.raw", wire.PartURL: "parts.url", wire.PartData: "parts.data"}[p.Kind])
		if p.Metadata != nil {
			add("parts.metadata")
		}
	}
	if q.Metadata != nil {
		add("metadata")
	}
	if len(q.Message.ReferenceTaskIDs) > 0 {
		add("referenceTaskIds")
	}
	if rest, _ := rawjson.Without(json.RawMessage(q.Message.Metadata), questionMembers...); len(rest) > 0 && string(rest) != "{}" {
		add("message.metadata")
	}
	if len(q.Message.Extensions) > 0 {
		add("message.extensions")
	}
	return list
}
