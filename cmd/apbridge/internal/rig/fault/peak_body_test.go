package fault

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/proxy/store/storetest"
)

// TestE15PeakOfOneBody: what the built program takes for one body, as the operating
// system counts it, beside what it has when idle. What would take more is refused.
func TestE15PeakOfOneBody(t *testing.T) {
	if os.Getenv("APBRIDGE_TEST_LARGE") == "" {
		t.Skip("builds the binary as it is released; APBRIDGE_TEST_LARGE is not set")
	}
	storetest.File(t)
	agent := httptest.NewServer(acceptingAgent())
	defer agent.Close()
	binary := rig.Release(t)
	var list strings.Builder
	for i := range 1_100_000 {
		list.WriteString(`,"k` + strconv.Itoa(i) + `":0`)
	}
	keys, text := "{"+list.String()[1:]+"}", strings.Repeat("x", 14<<20)
	messages := `{"messages":[` + strings.Repeat(`,{"role":"user","content":"x"}`, 500_000)[1:] + `]}`
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		most                     float64 // times the body
	}{
		{"keys of an input", "POST", "/runs/wait", `{"agent_id":"files","input":` + keys + `}`, 200, 14},
		{"messages of an input", "POST", "/runs/wait", `{"agent_id":"files","input":` + messages + `}`, 422, 10},
		{"a text", "POST", "/runs/wait", `{"agent_id":"files","input":{"messages":[{"role":"user","content":"` + text + `"}]}}`, 200, 12},
		{"messages of a state", "POST", "/threads/ID/state", `{"values":` + messages + `}`, 422, 10},
		{"keys of a state", "POST", "/threads/ID/state", `{"values":` + keys + `}`, 422, 10},
		{"keys of an item", "PUT", "/store/items", `{"namespace":["a"],"key":"k","value":` + keys + `}`, 204, 10},
		{"keys of metadata", "POST", "/threads", `{"metadata":` + keys + `}`, 200, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			bridge := rig.StartProcess(t, binary, t.TempDir(), rig.LargeConfig(t.TempDir(), agent.URL, ""))
			defer bridge.Stop()
			made, err := rig.Call(t.Context(), http.DefaultClient, http.MethodPost, bridge.URL+"/threads", `{}`)
			if err != nil {
				t.Fatal(err)
			}
			thread, err := rig.Between(made, `"thread_id":"`, `"`)
			if err != nil {
				t.Fatal(err)
			}
			idle := bridge.Memory("VmRSS:")
			req, err := http.NewRequestWithContext(t.Context(), c.method, bridge.URL+strings.Replace(c.path, "ID", string(thread), 1), strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != c.status {
				t.Fatalf("answered %d, %v, want %d", res.StatusCode, err, c.status)
			}
			size := float64(len(c.body)) / (1 << 20)
			took := (bridge.Peak() - idle) / size
			t.Logf("%.1f MB take %.1f times that", size, took)
			if took > c.most {
				t.Errorf("takes %.1f times its length, at most %.0f", took, c.most)
			}
		})
	}
}

// acceptingAgent is a step agent that takes any body without looking at it.
func acceptingAgent() http.Handler {
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
