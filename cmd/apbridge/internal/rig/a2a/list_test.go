package a2a

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// TestAPageOfLargeTasksIsNotHeldInMemory is not parallel, because it measures the memory of the process, in which the client
// is, too.
func TestAPageOfLargeTasksIsNotHeldInMemory(t *testing.T) {
	const tasks, size = 40, 900 << 10
	agent := &adaptertest.A2AAgent{}
	content := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", size)))
	agent.Change = func(ev map[string]any) {
		if u, ok := ev["artifactUpdate"].(map[string]any); ok {
			u["artifact"].(map[string]any)["parts"].([]any)[0].(map[string]any)["raw"] = content
		}
	}
	// The files are not in the states, which are cached.
	c := client{rig.Configured(t, "agents: {agent: {url: $AGENT, dialect: a2a, artifacts: {max_inline: 1KB}}}\n", map[string]http.Handler{"agent": agent}), "agent"}
	for i := range tasks {
		c.call("SendMessage", message("m-"+strconv.Itoa(i), "file", "")).Is(200)
	}
	for name, open := range map[string]func(ctx context.Context) (*http.Request, error){
		"JSON-RPC": func(ctx context.Context) (*http.Request, error) {
			body := strings.NewReader(request("ListTasks", `{"includeArtifacts":true,"pageSize":100}`))
			return http.NewRequestWithContext(ctx, http.MethodPost, c.URL+"/a2a/agent", body)
		},
		"HTTP+JSON": func(ctx context.Context) (*http.Request, error) {
			return http.NewRequestWithContext(ctx, http.MethodGet, c.URL+"/a2a/agent/tasks?includeArtifacts=true&pageSize=100", nil)
		},
	} {
		r, err := open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("A2A-Version", "1.0")
		base := heapInUse()
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		most, total := uint64(0), int64(0)
		for {
			n, err := io.CopyN(io.Discard, res.Body, 2<<20)
			total += n
			most = max(most, heapInUse())
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(name, err)
			}
		}
		if total < tasks*size*4/3 {
			t.Errorf("%s: the page has %d bytes, less than its files", name, total)
		}
		if most > base+tasks*size {
			t.Errorf("%s: a page of %d bytes took %d bytes of memory, more than its files", name, total, most-base)
		}
	}
}

func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
