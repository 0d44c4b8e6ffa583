package adapter

import (
	"net/http"

	"github.com/apbridge/apbridge/mapping"
)

// RequestIDHeader identifies a request in the logs of all servers on its way.
const RequestIDHeader = "X-Request-Id"

// IdempotencyKeyHeader makes a creating request take effect only once, even if it is repeated.
const IdempotencyKeyHeader = "Idempotency-Key"

// AddOrigin adds the request id and the trace headers of the client's request to the call of an agent that it caused.
// It does not replace headers configured for the agent.
func AddOrigin(r *http.Request) {
	trace := mapping.TraceOf(r.Context())
	add(r.Header, RequestIDHeader, mapping.RequestIDOf(r.Context()))
	if r.Header.Get(mapping.TraceParentHeader) == "" { // these two headers belong together
		trace.Tell(func(name, value string) { add(r.Header, name, value) })
	}
}

func add(h http.Header, name, value string) {
	if value != "" && h.Get(name) == "" {
		h.Set(name, value)
	}
}
