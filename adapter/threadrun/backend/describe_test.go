package backend

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping"
)

// A server's description of its graph is requested once, even if the server has none. An unreachable server is asked
// again.
func TestDescriptionsAreKept(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int // of the schemas; 0: the connection breaks
		age    bool
		asked  int32
		code   string // of the error
	}{
		"told":                 {200, true, 1, ""},
		"told, and then stale": {200, false, 3, ""},
		"cannot tell":          {500, true, 1, mapping.CodeNotSupported},
		"has no such route":    {404, true, 1, mapping.CodeNotSupported},
		"refuses":              {403, true, 1, mapping.CodeUpstreamError},
		"away":                 {0, true, 3 * upstream.Tries, mapping.CodeUpstreamUnreachable}, // at least that many: the transport repeats a GET on a new connection
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			agent := &adaptertest.ThreadAgent{}
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/assistants/fe096781-5601-53d2-b2f6-0d3403f7e9ca/schemas" {
					agent.ServeHTTP(w, r)
					return
				}
				asked.Add(1)
				if c.status == 0 {
					panic(http.ErrAbortHandler)
				}
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(`{"graph_id":"agent","input_schema":{"type":"object"}}`))
			}))
			t.Cleanup(srv.Close)
			b, err := newBackend(adaptertest.Upstream(srv.URL))
			if err != nil {
				t.Fatal(err)
			}
			if !c.age {
				b.graphs.told.age = 0
			}
			for range 3 {
				got, err := b.Schemas(context.Background())
				switch {
				case c.code != "" && (err == nil || mapping.Classify(err).Code != c.code):
					t.Errorf("%s, %v, want %s", got.Input, err, c.code)
				case c.code == "" && (err != nil || string(got.Input) != `{"type":"object"}`):
					t.Errorf("%s, %v", got.Input, err)
				}
			}
			if n := asked.Load(); n < c.asked || n > c.asked && c.status != 0 {
				t.Errorf("asked %d times, want %d", n, c.asked)
			}
		})
	}
}
