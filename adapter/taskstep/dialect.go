package taskstep

import (
	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// Dialect is the task/step dialect, both sides of it.
func Dialect() adapter.Dialect {
	return adapter.Dialect{
		Name:     "taskstep",
		Mount:    mountFace,
		Dial:     dial,
		Detect:   detect,
		Flavours: []mapping.Flavour{mapping.FlavourTaskStep, mapping.FlavourTopic},
		Webhook:  webhookBody,
	}
}
