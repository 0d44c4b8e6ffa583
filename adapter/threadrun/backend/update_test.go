package backend

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
)

// TestStateUpdateIsSentTwiceOnlyForWantOfANode checks that a refused update is repeated once with a node if the server
// needs one. After an answer that may be a proxy's it is not repeated, because it may have been applied.
func TestStateUpdateIsSentTwiceOnlyForWantOfANode(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]int64{400: 2, 422: 2, 500: 2, 408: 1, 502: 1, 503: 1, 504: 1, 404: 1, 409: 1} {
		t.Run(strconv.Itoa(code), func(t *testing.T) {
			t.Parallel()
			var told atomic.Int64
			agent := &adaptertest.ThreadAgent{}
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/state") {
					told.Add(1)
					w.WriteHeader(code)
					return
				}
				agent.ServeHTTP(w, r)
			}))
			t.Cleanup(srv.Close)
			b, err := newBackend(adaptertest.Upstream(srv.URL))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := b.UpdateState(within(t), adapter.Copy{Link: mapping.Link{Remote: "t"}}, nil, json.RawMessage(`{"n":1}`), ""); err == nil {
				t.Error("the update is said to have been taken")
			}
			if n := told.Load(); n != want {
				t.Errorf("told %d times, want %d", n, want)
			}
		})
	}
}
