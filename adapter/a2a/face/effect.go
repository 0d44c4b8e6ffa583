package face

import (
	"net/http"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/a2a/wire"
	"github.com/apbridge/apbridge/mapping"
)

// effects are the effects of the operations.
var effects = map[wire.Method]adapter.Effect{
	wire.MethodSendMessage:          {Verb: mapping.Changed, Kind: "thread"},
	wire.MethodSendStreamingMessage: {Verb: mapping.Changed, Kind: "thread"},
	wire.MethodGetTask:              {Verb: mapping.Read, Kind: "task"},
	wire.MethodListTasks:            {Verb: mapping.Read, Kind: "task"},
	wire.MethodSubscribeToTask:      {Verb: mapping.Read, Kind: "task"},
	wire.MethodCancelTask:           {Verb: mapping.Cancelled, Kind: "task"},
	wire.MethodCreatePushConfig:     {Verb: mapping.Changed, Kind: "task"},
	wire.MethodGetPushConfig:        {Verb: mapping.Read, Kind: "task"},
	wire.MethodListPushConfigs:      {Verb: mapping.Read, Kind: "task"},
	wire.MethodDeletePushConfig:     {Verb: mapping.Changed, Kind: "task"},
	wire.MethodGetExtendedAgentCard: {Verb: mapping.Read, Kind: "assistant"},
}

// Effect returns the effect of a route, by its method and template. A JSON-RPC request reports its own.
func Effect(method, template string) (adapter.Effect, bool) {
	path := strings.TrimPrefix(template, root+"{agent}")
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for _, e := range endpoints {
		if e.method == method && (path == e.path || path == wire.LegacyPath(e.path)) {
			return effects[e.op], true
		}
	}
	switch {
	case method == http.MethodGet && slices.Contains(wellKnown, path):
		return adapter.Effect{Verb: mapping.Read, Kind: "bridge"}, true
	case method == http.MethodPost && strings.TrimSuffix(path, "/") == "":
		return adapter.Effect{Verb: mapping.Changed, Kind: "thread"}, true
	}
	return adapter.Effect{}, false
}
