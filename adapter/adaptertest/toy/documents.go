package toy

import (
	_ "embed"

	"github.com/apbridge/apbridge/adapter"
)

//go:embed openapi.json
var routes []byte

func documents() []adapter.Document {
	return []adapter.Document{{Name: "toy", About: "the toy's two routes", Text: routes}}
}
