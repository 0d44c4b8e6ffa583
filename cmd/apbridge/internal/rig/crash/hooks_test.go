package crash

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// hooks receives webhooks.
type hooks struct {
	url string
	mu  sync.Mutex
	got map[string]int // by run
}

func newHooks(t *testing.T) *hooks {
	t.Helper()
	h := &hooks{got: map[string]int{}}
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var m struct {
			Run string `json:"run_id"`
		}
		_ = json.NewDecoder(r.Body).Decode(&m)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.got[m.Run]++
	}))
	t.Cleanup(s.Close)
	h.url = s.URL
	return h
}

// check checks that the webhook of a run has arrived or will arrive. It has one row, which becomes due again if its
// delivery was not recorded.
func (h *hooks) check(t *testing.T, dsn, run string) {
	t.Helper()
	st := openRecord(t, dsn)
	defer st.Close()
	rows, err := st.Deliveries.List(context.Background(), run, 0)
	if err != nil || len(rows) != 1 {
		t.Fatalf("%d rows for the webhook, want 1 (%v)", len(rows), err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := h.got[run]; n == 0 && rows[0].Due.IsZero() || n > 2 || rows[0].Error != "" {
		t.Errorf("the webhook arrived %d times and its row is %+v", n, rows[0])
	}
}
