package fault

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
)

// TestBodiesBeyondTheMemoryAreRefused checks that a body that does not fit in the memory for bodies is refused in its
// dialect with a Retry-After, while small requests are served.
func TestBodiesBeyondTheMemoryAreRefused(t *testing.T) {
	t.Parallel()
	cfg := rig.ConfigFor(t, map[string]config.Agent{"agent": rig.AgentAt(adaptertest.Serve(t, adaptertest.NewStepAgent(adaptertest.Plain)).URL)})
	cfg.Limits.Body, cfg.Limits.RequestMemory = 64<<10, 64<<10
	b := rig.StartBridge(t, cfg)
	conn, err := net.Dial("tcp", strings.TrimPrefix(b.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	begun := strings.Repeat(" ", 60<<10) // all but the end of a body, which occupies its memory
	if _, err := fmt.Fprintf(conn, "POST /threads HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(begun)+2, begun); err != nil {
		t.Fatal(err)
	}
	large := `{"input":"` + strings.Repeat("x", 60<<10) + `"}`
	for path, word := range map[string]string{"/runs/wait": `"code":"overloaded"`, "/ap/v1/agent/tasks": `{"message":"The bodies`} {
		var got rig.Answer
		rig.Eventually(t, path+" is refused", func() bool { // once the other body has come
			got = b.Do("POST", path, large)
			return got.Status == http.StatusServiceUnavailable
		})
		if got.Header.Get("Retry-After") == "" || !rig.Says(string(got.Body), word, "limits.request_memory") {
			t.Errorf("%s: %v %s", path, got.Header, got.Body)
		}
	}
	b.Post("/threads", `{}`).OK()
}
