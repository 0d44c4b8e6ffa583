package backend

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
)

// TestGraphOfAServerThatListsNone checks that the configured graph is used if the server has threads.
func TestGraphOfAServerThatListsNone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		assistant string
		search    int // the status of a search for threads
		code      string
	}{
		"a graph is configured":      {"chat", http.StatusOK, ""},
		"threads cannot be searched": {"chat", http.StatusUnprocessableEntity, ""},
		"none is configured":         {"", http.StatusOK, mapping.CodeUpstreamError},
		"the server has no threads":  {"chat", http.StatusNotFound, mapping.CodeBadUpstream},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			routes := http.NewServeMux()
			routes.HandleFunc("POST /threads/search", func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.search)
				_, _ = io.WriteString(w, "[]")
			})
			srv := httptest.NewServer(routes)
			t.Cleanup(srv.Close)
			up := adaptertest.Upstream(srv.URL)
			up.Config.Assistant = c.assistant
			b, err := newBackend(up)
			if err != nil {
				t.Fatal(err)
			}
			got, err := b.graphs.target(within(t))
			if c.code != "" {
				if mapping.Classify(err).Code != c.code {
					t.Errorf("got %+v, %v; want %s", got, err, c.code)
				}
				return
			}
			if want := (target{id: "chat", graph: "chat", bare: true}); err != nil || got != want {
				t.Errorf("got %+v, %v; want %+v", got, err, want)
			}
		})
	}
}
