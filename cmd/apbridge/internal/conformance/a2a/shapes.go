package a2a

import (
	"fmt"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/check"
)

var states = []string{
	"TASK_STATE_SUBMITTED", "TASK_STATE_WORKING", "TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED",
	"TASK_STATE_INPUT_REQUIRED", "TASK_STATE_REJECTED", "TASK_STATE_AUTH_REQUIRED",
}

// settled reports whether a blocking call returns in this state (section 3.2.2).
func settled(state string) bool { return state != states[0] && state != states[1] }

// ended reports whether a state is terminal.
func ended(state string) bool {
	return settled(state) && state != "TASK_STATE_INPUT_REQUIRED" && state != "TASK_STATE_AUTH_REQUIRED"
}

// Schemas of the document (sections 4.1 and 4.2).
var (
	messageShape = check.Object(
		check.Members{"messageId": check.Text, "role": check.OneOf("ROLE_USER", "ROLE_AGENT"), "parts": some(partShape)},
		check.Members{"contextId": check.Text, "taskId": check.Text, "metadata": check.AnObject})
	artifactShape = check.Object(
		check.Members{"artifactId": check.Text, "parts": some(partShape)},
		check.Members{"name": check.Text, "description": check.Text, "metadata": check.AnObject})
	statusShape = check.Object(
		check.Members{"state": check.OneOf(states...)},
		check.Members{"message": messageShape, "timestamp": check.Time})
	taskShape = check.Object(
		check.Members{"id": check.Text, "status": statusShape},
		check.Members{
			"contextId": check.Text, "artifacts": check.List(artifactShape), "history": check.List(messageShape), "metadata": check.AnObject,
		})
	statusUpdate   = check.Object(check.Members{"taskId": check.Text, "contextId": check.Text, "status": statusShape}, nil)
	artifactUpdate = check.Object(
		check.Members{"taskId": check.Text, "contextId": check.Text, "artifact": artifactShape},
		check.Members{"append": check.Flag, "lastChunk": check.Flag})
	pushShape = check.Object(check.Members{"url": check.Text}, check.Members{"id": check.Text, "taskId": check.Text})
	cardShape = check.Object(
		check.Members{
			"name": check.Text, "description": check.Text, "version": check.Text, "capabilities": check.AnObject,
			"supportedInterfaces": some(interfaceShape), "defaultInputModes": some(check.Text), "defaultOutputModes": some(check.Text),
			"skills": some(check.Object(check.Members{"id": check.Text, "name": check.Text, "description": check.Text, "tags": some(check.Text)}, nil)),
		},
		check.Members{"securitySchemes": check.AnObject, "securityRequirements": check.List(check.AnObject)})
	interfaceShape = check.Object(check.Members{"url": check.Text, "protocolBinding": check.Text, "protocolVersion": check.Text}, nil)
)

// some returns the shape of a list that is not empty.
func some(of check.Shape) check.Shape {
	return func(v any, at string) string {
		if wrong := check.List(of)(v, at); wrong != "" {
			return wrong
		}
		if len(v.([]any)) == 0 {
			return at + ": the list is empty"
		}
		return ""
	}
}

// partShape accepts an object with exactly one content.
func partShape(v any, at string) string {
	if wrong := check.AnObject(v, at); wrong != "" {
		return wrong
	}
	n := 0
	for _, name := range []string{"text", "raw", "url", "data"} {
		if _, there := v.(map[string]any)[name]; there {
			n++
		}
	}
	if n != 1 {
		return fmt.Sprintf("%s: it has %d of text, raw, url and data, not one", at, n)
	}
	return ""
}

// update accepts a StreamResponse: an object with exactly one event.
func update(v any, at string) string {
	shapes := map[string]check.Shape{"task": taskShape, "message": messageShape, "statusUpdate": statusUpdate, "artifactUpdate": artifactUpdate}
	if wrong := check.AnObject(v, at); wrong != "" {
		return wrong
	}
	n := 0
	for name, shape := range shapes {
		member, there := v.(map[string]any)[name]
		if !there {
			continue
		}
		n++
		if wrong := shape(member, at+"."+name); wrong != "" {
			return wrong
		}
	}
	if n != 1 {
		return fmt.Sprintf("%s: it has %d of task, message, statusUpdate and artifactUpdate, not one", at, n)
	}
	return ""
}
