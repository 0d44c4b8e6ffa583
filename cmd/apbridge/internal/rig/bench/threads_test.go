package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// instantThreads is a thread/run agent that takes no time: three nodes whose frames are written once and sent to every
// client.
type instantThreads struct {
	next   atomic.Int64
	stream string
	state  string
}

func newInstantThreads() *instantThreads {
	a := &instantThreads{}
	var out strings.Builder
	frame := func(event string, data any) {
		text, _ := json.Marshal(data)
		fmt.Fprintf(&out, "event: %s\ndata: %s\n\n", event, text)
	}
	messages := []any{instantMessage("human", 0)}
	values := func() any { return map[string]any{"messages": messages} }
	frame("metadata", map[string]any{"run_id": instantRun, "attempt": 1})
	frame("values", values())
	for n := 1; n <= benchSteps; n++ {
		m := instantMessage("ai", n)
		messages = append(messages, m)
		frame("updates", map[string]any{"work": map[string]any{"messages": []any{m}}})
		frame("values", values())
		next := []string{"work"}
		if n == benchSteps {
			next = []string{}
		}
		frame("checkpoints", map[string]any{"values": values(), "metadata": map[string]any{"source": "loop", "step": n, "parents": map[string]any{}}, "next": next})
	}
	a.stream = out.String()
	state, _ := json.Marshal(map[string]any{
		"values": values(), "next": []string{}, "tasks": []any{}, "metadata": map[string]any{"source": "loop", "step": benchSteps, "run_id": instantRun},
		"created_at": "2026-01-01T00:00:00Z", "parent_checkpoint": nil,
		"checkpoint": map[string]any{"checkpoint_id": "00000000-0000-4000-b000-000000000000", "checkpoint_ns": "", "thread_id": "t"},
	})
	a.state = string(state)
	return a
}

func instantMessage(kind string, n int) any {
	return map[string]any{"id": fmt.Sprintf("m%d", n), "type": kind, "content": instantWork(n)}
}

func instantWork(n int) string {
	return fmt.Sprintf("did part %d of the work that was asked for", n)
}

const instantRun = "00000000-0000-4000-a000-000000000000"

const instantAssistant = `[{"assistant_id":"00000000-0000-4000-c000-000000000000","graph_id":"threads","name":"threads","config":{},"metadata":{},"version":1}]`

func (a *instantThreads) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	post, path := r.Method == http.MethodPost, r.URL.Path
	switch {
	case path == "/ok":
		rig.InstantText(w, `{"ok":true}`)
	case path == "/info":
		rig.InstantText(w, `{"version":"0","flags":{"assistants":true}}`)
	case path == "/assistants/search":
		rig.InstantText(w, instantAssistant)
	case post && path == "/threads":
		rig.InstantText(w, fmt.Sprintf(`{"thread_id":"00000000-0000-4000-8000-%012d","metadata":{},"status":"idle","values":{}}`, a.next.Add(1)))
	case post && strings.HasSuffix(path, "/runs/stream"):
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, a.stream)
	case strings.HasSuffix(path, "/state"):
		rig.InstantText(w, a.state)
	default:
		http.NotFound(w, r)
	}
}
