package adapter

import (
	"net/http"

	"github.com/apbridge/apbridge/mapping"
)

// RequestIDHeader names a request in the logs of all that it comes through.
const RequestIDHeader = "X-Request-Id"

// IdempotencyKeyHeader has a request that makes something carried out once, however often it comes.
const IdempotencyKeyHeader = "Idempotency-Key"

// AddOrigin adds to a call of an agent the headers of the client's request that it is made for: its id and its place in
// a trace. Headers that the agent is configured with stay.
func AddOrigin(r *http.Request) {
	trace := mapping.TraceOf(r.Context())
	add(r.Header, RequestIDHeader, mapping.RequestIDOf(r.Context()))
	if r.Header.Get(mapping.TraceParentHeader) == "" { // the two belong together
		trace.Tell(func(name, value string) { add(r.Header, name, value) })
	}
}

func add(h http.Header, name, value string) {
	if value != "" && h.Get(name) == "" {
		h.Set(name, value)
	}
}
