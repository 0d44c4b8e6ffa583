package upstream_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// keptCalls keeps all calls as long as there is room.
type keptCalls struct {
	room int

	mu    sync.Mutex
	open  int
	calls []adapter.AgentCall
}

func (k *keptCalls) Begin() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.open++
	return true
}

func (k *keptCalls) Reserve(n int) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	n = min(n, k.room)
	k.room -= n
	return n
}

func (k *keptCalls) End(c adapter.EndedCall) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.open--
	k.calls = append(k.calls, c.Shown())
}

// TestCallsAreKept checks that calls are kept with both bodies, truncated if they are long, and without credentials.
func TestCallsAreKept(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Set-Cookie", "session=another-secret")
		switch r.URL.Path {
		case "/echo":
			fmt.Fprintf(w, `{"you_said":%q,"key":%q}`, r.URL.Query().Get("key"), r.Header.Get("Authorization"))
		case "/long":
			// The secret spans the position where the body is truncated.
			_, _ = w.Write([]byte(strings.Repeat("x", 64<<10-len(secret)/2) + secret + strings.Repeat("y", 1000)))
		default:
			w.WriteHeader(http.StatusTeapot)
			fmt.Fprint(w, `{"detail":"no"}`)
		}
	}))
	defer srv.Close()
	c := clientOf(t, srv.URL, func(_ *adapter.Upstream, o *upstream.Options) { o.Limit = 1 << 20 })
	k := &keptCalls{room: 1 << 20}
	ctx := adapter.WithCallKeeper(t.Context(), k)
	_, err := c.Do(ctx, &upstream.Call{Method: "POST", Path: "/echo?key=" + secret, Type: "application/json", Body: new(rawjson.Pieces).Literal(`{"a":"` + secret + `"}`)})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = c.Do(ctx, &upstream.Call{Method: "GET", Path: "/long"})
	_, _ = c.Do(ctx, &upstream.Call{Method: "POST", Path: "/refused"})
	_, _ = clientOf(t, nowhere(t)).Do(ctx, &upstream.Call{Method: "POST", Path: "/x"})
	if len(k.calls) < 4 || k.open != 0 { // the call that did not reach a server was repeated
		t.Fatalf("%d calls kept, %d open", len(k.calls), k.open)
	}
	echo, long, refused, lost := k.calls[0], k.calls[1], k.calls[2], k.calls[len(k.calls)-1]
	if got := string(echo.Sent.Body) + string(echo.Received.Body); got != `{"a":"[hidden]"}{"you_said":"[hidden]","key":"Bearer [hidden]"}` && got != `{"a":"[hidden]"}{"you_said":"[hidden]","key":"[hidden]"}` {
		t.Errorf("bodies %s", got)
	}
	if echo.Method != "POST" || echo.Status != 200 || echo.Took <= 0 || echo.Sent.Header["Content-Type"] != "application/json" || echo.Received.Header["Content-Type"] != "application/json" {
		t.Errorf("call %+v", echo)
	}
	if !long.Received.Cut() || long.Received.Size != 64<<10-int64(len(secret)/2)+int64(len(secret))+1000 || long.Received.Kept > 64<<10 {
		t.Errorf("%d of %d bytes kept", long.Received.Kept, long.Received.Size)
	}
	if refused.Status != http.StatusTeapot || string(refused.Received.Body) != `{"detail":"no"}` {
		t.Errorf("refused: %+v", refused)
	}
	if lost.Status != 0 || lost.Error == "" {
		t.Errorf("without a response: %+v", lost)
	}
	all, err := json.Marshal(k.calls)
	if err != nil {
		t.Fatal(err)
	}
	shown := string(all)
	for _, c := range k.calls {
		shown += string(c.Sent.Body) + string(c.Received.Body)
	}
	for _, s := range []string{secret, secret[:len(secret)/2], "another-secret"} {
		if strings.Contains(shown, s) {
			t.Errorf("%q is kept", s)
		}
	}
}

// TestCallsWithoutRoom checks that bytes that are not kept are counted, and that the caller still gets the whole
// response.
func TestCallsWithoutRoom(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"a":1}`) }))
	defer srv.Close()
	k := &keptCalls{room: 3}
	ans, err := clientOf(t, srv.URL).Do(adapter.WithCallKeeper(t.Context(), k), &upstream.Call{Method: "GET", Path: "/"})
	if err != nil || string(ans.Body) != `{"a":1}` {
		t.Fatalf("answer %s, %v", ans.Body, err)
	}
	if got := k.calls[0].Received; string(got.Body) != `{"a` || got.Size != 7 || !got.Cut() {
		t.Errorf("kept %+v", got)
	}
}
