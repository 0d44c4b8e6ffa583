package taskstep

import (
	_ "embed"

	"github.com/apbridge/apbridge/adapter"
)

var (
	//go:embed openapi/taskstep.json
	tasks []byte
	//go:embed openapi/topics.json
	topics []byte
)

func documents() []adapter.Document {
	return []adapter.Document{
		{Name: "taskstep", About: "tasks, steps and artifacts", Text: tasks},
		{Name: "topics", About: "topics and interactions", Text: topics},
	}
}
