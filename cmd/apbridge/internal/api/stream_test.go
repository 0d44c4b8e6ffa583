package api

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/apbridge/apbridge/adapter/sse"
)

// TestFollowGoesOn checks that a broken stream is resumed after the last received event.
func TestFollowGoesOn(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 8)
	bridge := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		after := r.Header.Get("Last-Event-ID")
		asked <- after
		if after == "-1" {
			fmt.Fprint(w, "event: updates\nid: 7.0\ndata: one\n\n")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		fmt.Fprint(w, "event: updates\nid: 8.0\ndata: two\n\n")
	}))
	t.Cleanup(bridge.Close)
	c, err := New(bridge.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	err = c.Follow(t.Context(), "run", func(e sse.Event) error {
		got = append(got, string(e.Data))
		return nil
	})
	if first, second := <-asked, <-asked; err != nil || first != "-1" || second != "7.0" || !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("%v, asked after %s and %s: %v", got, first, second, err)
	}
}
