package main

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/coder/websocket"
)

// TestOpenPagesDoNotKeepTheProcess checks that an idle process does not wait for the thread streams of open chat pages
// to be closed. New requests are refused in the meantime.
func TestOpenPagesDoNotKeepTheProcess(t *testing.T) {
	t.Parallel()
	p := startProgram(t, []string{"APBRIDGE_SHUTDOWN_GRACE=10m"},
		"serve", "--listen", "127.0.0.1:0", "--database", filepath.Join(t.TempDir(), "a.db"), "--agent", "legacy=http://127.0.0.1:9")
	url := p.err.Await(t, `"msg":"serving","url":"([^"]+)"`)
	const thread = "/threads/0190e1f2-0000-7000-8000-000000000001"
	if status, body := post(t, url+"/threads", `{"thread_id":"0190e1f2-0000-7000-8000-000000000001"}`); status != 200 {
		t.Fatalf("a thread: %d %s", status, body)
	}
	for _, open := range []struct{ method, path, body string }{
		{"POST", thread + "/stream/events", `{"channels":["lifecycle"]}`},
		{"POST", thread + "/stream", `{"channels":["lifecycle"]}`},
		{"GET", thread + "/stream", ""},
		{"GET", "/inspect/events", ""},
	} {
		holdOpen(t, open.method, url+open.path, open.body)
	}
	conn, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(url, "http")+thread+"/stream/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	p.stop()
	if _, _, err = conn.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("the WebSocket ended with %v", err)
	}
	select {
	case code := <-p.code:
		if code != 0 {
			t.Errorf("exit code %d\n%s", code, p.err)
		}
	case <-time.After(adaptertest.Patience):
		t.Fatal("the process is still there")
	}
}

// holdOpen begins to read an endless response, and keeps it open until the test ends.
func holdOpen(t *testing.T, method, url, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	if res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		text, _ := io.ReadAll(res.Body)
		t.Fatalf("%s %s: %d %s", method, url, res.StatusCode, text)
	}
}
