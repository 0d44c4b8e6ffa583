package face

import (
	"net/http"

	"github.com/apbridge/apbridge/adapter"
)

// opensStream are the operations that answer with a stream or a WebSocket, as method and path.
var opensStream = map[string]bool{
	"POST /runs/stream":                              true,
	"GET /runs/{run_id}/stream":                      true,
	"POST /threads/{thread_id}/runs/stream":          true,
	"GET /threads/{thread_id}/runs/{run_id}/stream":  true,
	"POST /threads/{thread_id}/runs/{run_id}/stream": true,
	"GET /threads/{thread_id}/stream":                true,
	"POST /threads/{thread_id}/stream":               true,
	"GET /threads/{thread_id}/stream/events":         true,
	"POST /threads/{thread_id}/stream/events":        true,
}

// counted is what serves the endpoint, once its stream is counted.
func (e endpoint) counted() handler {
	if !opensStream[e.method+" "+e.path] {
		return e.serve
	}
	return func(s *server, w http.ResponseWriter, r *http.Request) error {
		done, err := adapter.OpenStream(r.Context())
		if err != nil {
			return err
		}
		defer done()
		return e.serve(s, w, r)
	}
}
