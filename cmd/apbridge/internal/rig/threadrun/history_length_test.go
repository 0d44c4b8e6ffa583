package threadrun

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// largeStates makes a thread whose states are of so many bytes.
func largeStates(b *rig.Bridge, states, size int) (thread string) {
	b.T.Helper()
	thread = b.Thread()
	b.Post(thread+"/state", fmt.Sprintf(`{"values":{"text":"%0*d"}}`, size, 0)).OK()
	for n := range states - 1 {
		b.Post(thread+"/state", fmt.Sprintf(`{"values":{"n":%d}}`, n)).OK()
	}
	return thread
}

// TestHistoryIsNotHeldWhole: an answer of many states, or of many threads with their
// values, goes out piece by piece. Not parallel: what lives is the process's.
func TestHistoryIsNotHeldWhole(t *testing.T) {
	const states, size = 60, 500_000
	b := rig.InFrontOf(t, "http://127.0.0.1:9")
	thread := largeStates(b, states, size)
	for range states - 1 {
		b.Post(b.Thread()+"/state", fmt.Sprintf(`{"values":{"text":"%0*d"}}`, size, 1)).OK()
	}
	for what, ask := range map[string][3]string{
		"history":         {"GET", thread + "/history?limit=1000", ""},
		"history, posted": {"POST", thread + "/history", `{"limit":1000}`},
		"threads":         {"POST", "/threads/search", `{"limit":1000}`},
	} {
		var length int64
		got := rig.Measure(func() {
			req, err := http.NewRequestWithContext(t.Context(), ask[0], b.URL+ask[1], strings.NewReader(ask[2]))
			if err != nil {
				t.Fatal(err)
			}
			res, err := rig.PlainClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if length, err = io.Copy(io.Discard, res.Body); err != nil {
				t.Error(err)
			}
		})
		t.Logf("%s: %d bytes, %.0f live", what, length, got.Live)
		if length < states*size || got.Live > states*size*2/3 {
			t.Errorf("%s: %d bytes long, %.0f of them live in between", what, length, got.Live)
		}
	}
}

// TestHistoryThatBreaksOff: what fails behind the first states cannot be told any more;
// the connection is cut, so that no client takes a part for the whole.
func TestHistoryThatBreaksOff(t *testing.T) {
	t.Parallel()
	const states, size = 40, 500_000
	b := rig.InFrontOf(t, "http://127.0.0.1:9")
	thread := largeStates(b, states, size)
	res, err := http.Get(b.URL + thread + "/history?limit=1000")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.ReadFull(res.Body, make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	b.Do("DELETE", thread, "").OK()
	if n, err := io.Copy(io.Discard, res.Body); err == nil {
		t.Errorf("%d bytes more came, and a proper end", n)
	}
}
