package fault

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/proxy/store/storetest"
)

// drainingAgent is a step agent that discards any body, so that a test measures only the bridge.
func drainingAgent() http.Handler {
	m := http.NewServeMux()
	for route, text := range map[string]string{
		"POST /ap/v1/agent/tasks":               `{"task_id":"t","input":"","artifacts":[]}`,
		"POST /ap/v1/agent/tasks/{id}/steps":    `{"task_id":"t","step_id":"s","name":"","status":"completed","output":"done","additional_output":{},"artifacts":[],"is_last":true}`,
		"GET /ap/v1/agent/tasks/{id}/artifacts": `{"artifacts":[],"pagination":{"total_items":0,"total_pages":0,"current_page":1,"page_size":10}}`,
	} {
		m.HandleFunc(route, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, text)
		})
	}
	return m
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(`,"k` + strconv.Itoa(i) + `":0`)
	}
	return `{` + b.String()[1:] + `}`
}

func manyMessages(n int) string {
	return `{"messages":[` + strings.Repeat(`,{"role":"user","content":"x"}`, n)[1:] + `]}`
}

// TestCostOfOneBody checks that the cost of a body grows only with its length, whatever its number of keys or messages,
// from reading to the response. It measures allocations, which are the same on every machine, and live memory.
func TestCostOfOneBody(t *testing.T) {
	storetest.File(t) // allocations of the PostgreSQL client are not in these bounds
	graph := &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay()}}
	durable := func(agent http.Handler, dialect string) *rig.Bridge {
		cfg := rig.ConfigFor(t, map[string]config.Agent{"agent": rig.AgentAt(adaptertest.Serve(t, agent).URL, func(a *config.Agent) { a.Dialect = dialect })})
		cfg.Synchronous = "full" // as users run it
		return rig.StartBridge(t, cfg)
	}
	steps, graphs := durable(drainingAgent(), "taskstep"), durable(graph, "threadrun")
	state := func(b *rig.Bridge) string { return b.Thread() + "/state" }
	for _, c := range []struct {
		name, before, after string
		fill                func(n int) string
		n                   int
		to                  *rig.Bridge
		path                func() string
		allocated, live     float64 // most, as multiples of the body
	}{
		{"keys, step agent", `{"agent_id":"agent","input":`, `}`, manyKeys, 100_000, steps, func() string { return "/runs/wait" }, 30, 12},
		{"keys, graph", `{"agent_id":"agent","input":`, `}`, manyKeys, 100_000, graphs, func() string { return "/runs/wait" }, 45, 16},
		{"messages, step agent", `{"agent_id":"agent","input":`, `}`, manyMessages, 5_000, steps, func() string { return "/runs/wait" }, 60, 26},
		{"messages, graph", `{"agent_id":"agent","input":`, `}`, manyMessages, 5_000, graphs, func() string { return "/runs/wait" }, 60, 26},
		{"keys of a state", `{"values":`, `}`, manyKeys, 5_000, steps, func() string { return state(steps) }, 80, 40},
		{"keys of a value", `{"values":{"k":`, `}}`, manyKeys, 100_000, steps, func() string { return state(steps) }, 30, 12},
		{"messages of a state", `{"values":`, `}`, manyMessages, 5_000, steps, func() string { return state(steps) }, 60, 26},
		{"keys of a task", `{"input":"hi","additional_input":`, `}`, manyKeys, 100_000, steps, func() string { return "/ap/v1/agent/tasks" }, 30, 12},
		{"keys of an item", `{"namespace":["a"],"key":"k","value":`, `}`, manyKeys, 100_000, steps, func() string { return "/store/items" }, 30, 12},
		{"keys of metadata", `{"metadata":`, `}`, manyKeys, 100_000, steps, func() string { return "/threads" }, 40, 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			small, _ := costOf(t, c.to, c.path(), c.before+c.fill(c.n)+c.after)
			large, size := costOf(t, c.to, c.path(), c.before+c.fill(2*c.n)+c.after)
			for range 2 { // like MeasureUntil, each time on a separate path
				if large.Allocated > min(c.allocated*size, 3*small.Allocated) || large.Live > c.live*size {
					large, size = costOf(t, c.to, c.path(), c.before+c.fill(2*c.n)+c.after)
				}
			}
			t.Logf("%.1f MB: allocates %.0f times that, %.0f times live, in %v; half of it %v", size/1e6, large.Allocated/size, large.Live/size, large.Took, small.Took)
			if large.Allocated > c.allocated*size || large.Live > c.live*size {
				t.Errorf("allocates %.1f times its length, at most %.0f; %.1f times live, at most %.0f", large.Allocated/size, c.allocated, large.Live/size, c.live)
			}
			if grown := large.Allocated / small.Allocated; grown > 3 { // tables double
				t.Errorf("a body of twice the length allocates %.1f times as much", grown)
			}
		})
	}
}

func costOf(t *testing.T, b *rig.Bridge, path, body string) (rig.Cost, float64) {
	t.Helper()
	method := http.MethodPost
	if path == "/store/items" {
		method = http.MethodPut
	}
	return rig.Measure(func() {
		req, err := http.NewRequestWithContext(t.Context(), method, b.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := rig.PlainClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode/100 != 2 {
			t.Fatalf("response to %s: %d, %v", path, res.StatusCode, err)
		}
	}), float64(len(body))
}

// TestDeclaredLengthReservesNoMemory checks that no memory is reserved for a body that claims to be an upload on a
// route without uploads, whatever its announced length.
func TestDeclaredLengthReservesNoMemory(t *testing.T) {
	b := rig.InFrontOf(t, "http://127.0.0.1:9")
	for _, kind := range []string{"multipart/form-data; boundary=x", "application/json"} {
		for _, path := range []string{"/threads", "/ap/v1/agent/tasks"} {
			got := rig.MeasureUntil(func(c rig.Cost) bool { return c.Allocated <= 32<<20 }, func() {
				conn, err := net.Dial("tcp", strings.TrimPrefix(b.URL, "http://"))
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n{", path, kind, 1<<29)
				if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, " 41") {
					t.Errorf("response to %s with %s: %q, %v", path, kind, line, err)
				}
			})
			if got.Allocated > 32<<20 {
				t.Errorf("%s with %s allocates %.0f bytes", path, kind, got.Allocated)
			}
		}
	}
}
