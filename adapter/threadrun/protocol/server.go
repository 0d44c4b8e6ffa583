package protocol

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"go.uber.org/zap"
)

// Server handles the protocol's commands and streams with a service. It keeps no state and is safe for concurrent use.
type Server struct {
	Service   adapter.Service
	Start     Starter
	Log       *zap.Logger
	Depth     int           // maximum JSON depth; 0 for no limit
	Message   int64         // maximum bytes of a WebSocket message
	Heartbeat time.Duration // interval between heartbeats on a stream

	patience      time.Duration // for a client to read a message; 0 means sse.WriteTimeout
	settle        time.Duration // pause between a socket's last command and the next event; 0 means settleTime
	piecePatience time.Duration // for a client to send a piece of a message; 0 means piecePatience
}

// Start is a run that a command starts.
type Start struct {
	Thread  string
	Header  http.Header     // of the request; nil on a WebSocket
	Payload json.RawMessage // a request of LangGraph's REST API
	Answers bool            // the input's last human message answers the thread's open question, if any
	Command json.RawMessage // the content to which an Idempotency-Key is bound; nil without a key
}

// Starter starts a run with the same rules as a REST request with the payload on the thread.
type Starter func(ctx context.Context, run Start) (*adapter.Started, error)
