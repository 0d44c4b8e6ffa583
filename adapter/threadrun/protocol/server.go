package protocol

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"go.uber.org/zap"
)

// Server answers the protocol's commands and streams out of a service. It keeps no state; safe for concurrent use.
type Server struct {
	Service   adapter.Service
	Start     Starter
	Log       *zap.Logger
	Depth     int           // of what clients send; 0: no limit
	Message   int64         // bytes of a message over a WebSocket
	Heartbeat time.Duration // between two signs of life on a stream

	patience      time.Duration // for a client to take a message; 0: sse.WriteTimeout
	settle        time.Duration // between a socket's last command and the next event; 0: settleTime
	piecePatience time.Duration // for a client to send a piece of a message; 0: piecePatience
}

// Start is a run that a command asks for.
type Start struct {
	Thread  string
	Header  http.Header     // of the request; nil on a WebSocket
	Payload json.RawMessage // a request of LangGraph's REST API
	Answers bool            // the input's last human message answers what the thread waits with, whatever it is
	Command json.RawMessage // what an Idempotency-Key stands for; nil without one
}

// Starter starts a run as if its payload had come for the thread: what is said in the REST API of runs holds here.
type Starter func(ctx context.Context, run Start) (*adapter.Started, error)
