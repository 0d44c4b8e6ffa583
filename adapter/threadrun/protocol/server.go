package protocol

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"go.uber.org/zap"
)

// Server answers the protocol's commands and streams out of a service. It keeps no state; safe
// for concurrent use.
type Server struct {
	Service adapter.Service
	Start   Starter
	Log     *zap.Logger
	Depth   int           // of what clients send; 0: no limit
	Message int64         // bytes of a message over a WebSocket
	Beat    time.Duration // between two signs of life on a stream

	patience time.Duration // for a client to take a message; 0: sse.WriteTimeout
}

// Starter starts a run as if payload, a request of LangGraph's REST API, had come for the
// thread: what is said there of runs holds here. header is that of the request, or nil.
type Starter func(ctx context.Context, thread string, header http.Header, payload json.RawMessage) (adapter.Started, error)
