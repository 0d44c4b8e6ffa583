package face

import (
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// Effect returns the effect of a route, by its method and template.
func Effect(method, template string) (adapter.Effect, bool) {
	path := strings.TrimPrefix(template, "/agents/{agent}")
	for _, prefix := range []string{"/ap/v1/agent", "/ap/v2/topics/{topic}", "/ap/v2", "/ap/v1", "/agent"} {
		rest, ok := strings.CutPrefix(path, prefix)
		if !ok {
			continue
		}
		if method == "HEAD" {
			method = "GET"
		}
		if op, ok := effects[method+" "+rest]; ok {
			return op, true
		}
	}
	return adapter.Effect{}, false
}

// effects maps method and path, without the prefix, to effects.
var effects = map[string]adapter.Effect{
	"POST /tasks/{task}/steps":               {Verb: mapping.Changed, Kind: "task"},
	"POST /tasks":                            {Verb: mapping.Created, Kind: "task"},
	"GET /tasks/{task}":                      {Verb: mapping.Read, Kind: "task"},
	"GET /tasks/{task}/steps":                {Verb: mapping.Read, Kind: "step"},
	"GET /tasks/{task}/steps/{step}":         {Verb: mapping.Read, Kind: "step"},
	"GET /tasks/{task}/artifacts":            {Verb: mapping.Read, Kind: "artifact"},
	"GET /tasks/{task}/artifacts/{artifact}": {Verb: mapping.Read, Kind: "artifact"},
	"POST /tasks/{task}/artifacts":           {Verb: mapping.Created, Kind: "artifact"},
	"GET /tasks":                             {Verb: mapping.Read, Kind: "task"},
	"POST /tasks/{task}/cancel":              {Verb: mapping.Cancelled, Kind: "task"},
	"POST /interactions":                     {Verb: mapping.Created, Kind: "interaction"},
	"GET /interactions":                      {Verb: mapping.Read, Kind: "interaction"},
	"GET /interactions/{interaction}":        {Verb: mapping.Read, Kind: "interaction"},
	"GET ":                                   {Verb: mapping.Read, Kind: "topic"},
	"POST /topics":                           {Verb: mapping.Created, Kind: "topic"},
	"GET /topics":                            {Verb: mapping.Read, Kind: "topic"},
	"GET /heartbeat":                         {Verb: mapping.Read, Kind: "bridge"},
}
