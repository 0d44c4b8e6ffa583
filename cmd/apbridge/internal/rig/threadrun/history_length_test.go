package threadrun

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
)

// largeStates creates a thread with states of this many bytes.
func largeStates(b *rig.Bridge, states, size int) (thread string) {
	b.T.Helper()
	thread = b.Thread()
	b.Post(thread+"/state", fmt.Sprintf(`{"values":{"text":"%0*d"}}`, size, 0)).OK()
	for n := range states - 1 {
		b.Post(thread+"/state", fmt.Sprintf(`{"values":{"n":%d}}`, n)).OK()
	}
	return thread
}

// maxListMemory limits live memory, in bytes, while a list of any length is read and written. On a busy machine the
// garbage collector is late, so the limit includes some garbage.
const maxListMemory = 32_000_000

// readLong reads a response and returns its length.
func readLong(b *rig.Bridge, method, path, body string) (length int64) {
	b.T.Helper()
	req, err := http.NewRequestWithContext(b.T.Context(), method, b.URL+path, strings.NewReader(body))
	if err != nil {
		b.T.Fatal(err)
	}
	res, err := rig.PlainClient.Do(req)
	if err != nil {
		b.T.Fatal(err)
	}
	defer res.Body.Close()
	if length, err = io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK {
		b.T.Errorf("%s %s: %d, %v", method, path, res.StatusCode, err)
	}
	return length
}

// TestLongResponsesAreStreamed checks that long lists of states, threads, runs and tasks are not held in memory as a
// whole. It is not parallel, because it measures the memory of the process.
func TestLongResponsesAreStreamed(t *testing.T) {
	const states, size = 200, 500_000
	const rows = 80
	defer debug.SetGCPercent(debug.SetGCPercent(25))                                              // live memory is known after a collection
	b := rig.InFrontOf(t, "http://127.0.0.1:9", func(a *config.Agent) { a.Dialect = "taskstep" }) // never called
	thread := largeStates(b, states, size)
	for range states - 1 {
		b.Post(b.Thread()+"/state", fmt.Sprintf(`{"values":{"text":"%0*d"}}`, size, 1)).OK()
	}
	for range rows { // none of them begins
		b.Post("/runs", fmt.Sprintf(`{"agent_id":"agent","after_seconds":3600,"input":"%0*d"}`, size, 1)).OK()
		b.Post("/ap/v1/agent/tasks", fmt.Sprintf(`{"input":"%0*d"}`, size, 1)).OK()
	}
	for _, ask := range []struct {
		name, method, path, body string
		length                   int64
	}{
		{"history", "GET", thread + "/history?limit=1000", "", states * size},
		{"history, posted", "POST", thread + "/history", `{"limit":1000}`, states * size},
		{"threads", "POST", "/threads/search", `{"limit":1000}`, states * size},
		{"threads by their values", "POST", "/threads/search", `{"limit":1000,"values":{"no":"such"}}`, 0},
		{"runs", "POST", "/runs/search", `{"limit":1000}`, rows * size},
		{"tasks", "GET", "/ap/v1/agent/tasks?page_size=1000", "", rows * size},
	} {
		var length int64
		got := rig.MeasureUntil(func(c rig.Cost) bool { return c.Live <= maxListMemory }, func() { length = readLong(b, ask.method, ask.path, ask.body) })
		t.Logf("%s: %d bytes, %.0f live, %v", ask.name, length, got.Live, got.Took)
		if length < ask.length || got.Live > maxListMemory {
			t.Errorf("%s: a response of %d bytes, %.0f bytes live while it is sent", ask.name, length, got.Live)
		}
	}
}

// TestHistoryFailureCutsTheConnection checks that a failure after the first states cuts the connection. It can no
// longer be reported, and no client may take a part for the whole.
func TestHistoryFailureCutsTheConnection(t *testing.T) {
	t.Parallel()
	const states, size = 40, 500_000
	b := rig.InFrontOf(t, "http://127.0.0.1:9")
	thread := largeStates(b, states, size)
	res, err := smallWindow(t).Get(b.URL + thread + "/history?limit=1000")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.ReadFull(res.Body, make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	b.Do("DELETE", thread, "").OK()
	if n, err := io.Copy(io.Discard, res.Body); err == nil {
		t.Errorf("%d more bytes arrived, and the response ended without an error", n)
	}
}

// smallWindow returns a client with a small receive buffer. By default, a connection on loopback can buffer the whole
// response.
func smallWindow(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{DisableCompression: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err == nil {
			err = conn.(*net.TCPConn).SetReadBuffer(64 << 10)
		}
		return conn, err
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}
