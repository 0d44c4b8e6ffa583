package taskstep

import (
	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/taskstep/backend"
	"github.com/apbridge/apbridge/adapter/taskstep/face"
	"github.com/apbridge/apbridge/mapping"
)

// Dialect is the task/step dialect, both sides of it.
func Dialect() adapter.Dialect {
	return adapter.Dialect{
		Name:    "taskstep",
		Paths:   []string{"/ap", "/agent", "/agents/{agent}/ap"},
		Mount:   face.Mount,
		Refusal: face.Refusal,
		Dial:    backend.Dial,
		Detect:  backend.Detect,
		Flavours: []adapter.Flavour{
			{Name: face.FlavourTaskStep, Request: face.RequestForTask, Strategy: mapping.StrategyReject},
			{Name: face.FlavourTopic, Request: face.RequestForTask, Strategy: mapping.StrategyReject},
		},
		Webhook: face.WebhookBody,

		Fields:       face.RequestFields(),
		Capabilities: backend.Capabilities(),
		Documents:    documents(),
		Temporary:    []string{face.TemporaryUploads},
	}
}
