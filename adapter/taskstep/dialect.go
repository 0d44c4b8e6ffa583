package taskstep

import (
	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/taskstep/backend"
	"github.com/apbridge/apbridge/adapter/taskstep/face"
	"github.com/apbridge/apbridge/mapping"
)

// Dialect returns both sides of the task/step dialect.
func Dialect() adapter.Dialect {
	return adapter.Dialect{
		Name:      "taskstep",
		Aliases:   []string{"autogpt"},
		Paths:     []string{"/ap", "/agent", "/agents/{agent}/ap"},
		Mount:     face.Mount,
		Effect:    face.Effect,
		Refusal:   face.Refusal,
		Fields:    face.RequestFields(),
		Documents: documents(),
		Speaks:    "tasks and steps (the Agent Protocol v1, as AutoGPT and benchmark harnesses use it)",
		Chooses:   "in the path /agents/NAME/ap/v1 of a task",
		Temporary: []string{face.TemporaryUploads},
		Flavours:  flavours(),

		ArtifactPath: face.ArtifactPath,

		Snippets: code,
		Clients:  "Task and step",
		Observe:  face.Observe,

		Dial:         backend.Dial,
		Detect:       backend.Detect,
		Ends:         backend.Ends(),
		Capabilities: backend.Capabilities(),
	}
}

// flavours are those of tasks, and of tasks in a topic.
func flavours() []adapter.Flavour {
	return []adapter.Flavour{
		{Name: face.FlavourTaskStep, Request: face.RequestForTask, Strategy: mapping.StrategyReject},
		{Name: face.FlavourTopic, Request: face.RequestForTask, Strategy: mapping.StrategyReject},
	}
}
