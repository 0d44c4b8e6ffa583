package a2a

import (
	_ "embed"

	"github.com/apbridge/apbridge/adapter"
)

//go:embed openapi/a2a.json
var routes []byte

func documents() []adapter.Document {
	return []adapter.Document{{Name: "a2a", About: "A2A: messages, tasks, push notifications and cards", Text: routes}}
}
