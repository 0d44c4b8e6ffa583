package threadrun

import (
	_ "embed"

	"github.com/apbridge/apbridge/adapter"
)

//go:embed openapi/threadrun.json
var served []byte

func documents() []adapter.Document {
	return []adapter.Document{{Name: "threadrun", About: "threads, runs, the store and agents", Text: served}}
}
