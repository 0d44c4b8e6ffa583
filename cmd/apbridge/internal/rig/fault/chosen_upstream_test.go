package fault

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// arrivals records requests before they are served.
type arrivals struct {
	next http.Handler
	mu   sync.Mutex
	seen []http.Header
}

func (a *arrivals) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.seen = append(a.seen, r.Header.Clone())
	a.mu.Unlock()
	a.next.ServeHTTP(w, r)
}

func (a *arrivals) all() []http.Header {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.seen)
}

// TestClientsChooseNoUpstream checks that nothing in a client's configuration, metadata, input or headers decides which
// address the bridge calls or which credentials it uses (E11).
func TestClientsChooseNoUpstream(t *testing.T) {
	t.Parallel()
	decoy := &arrivals{next: http.NotFoundHandler()}
	elsewhere := httptest.NewServer(decoy)
	t.Cleanup(elsewhere.Close)
	steps := &arrivals{next: &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{{Output: `"done"`, Last: true}}}}
	graph := &arrivals{next: &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay()}}}
	r := rig.Configured(t, `
agents:
  a: {url: $A, headers: {Authorization: 'env:TOKEN', X-Account: ours}}
  g: {url: $G, headers: {Authorization: 'env:TOKEN', X-Account: ours}}`, map[string]http.Handler{"a": steps, "g": graph}, "TOKEN=Bearer of the agent")
	forged := forgedSettings(elsewhere.URL)
	headers := []string{"X-Account", "forged", "X-Upstream-Url", elsewhere.URL, "X-Api-Base", elsewhere.URL, "Proxy-Authorization", "forged", "Cookie", "s=forged"}
	for _, agent := range []string{"a", "g"} {
		for _, field := range []string{`"config":%s`, `"config":{"configurable":%s}`, `"metadata":%s`, `"context":%s`, `"input":%s`} {
			body := fmt.Sprintf(`{"assistant_id":%q,`+field, agent, forged)
			if !strings.Contains(field, "input") {
				body += `,"input":{"messages":[{"role":"user","content":"hi"}]}`
			}
			told := r.Do("POST", "/runs/wait", body+"}", headers...)
			if told.Status/100 != 2 && told.Status != 400 && told.Status != 422 {
				t.Errorf("%s of agent %s: %d %s", field, agent, told.Status, told.String())
			}
		}
		made := r.Do("POST", "/assistants", fmt.Sprintf(`{"graph_id":%q,"config":{"configurable":%s},"metadata":%[2]s}`, agent, forged)).Member("assistant_id")
		r.Do("POST", "/runs/wait", fmt.Sprintf(`{"assistant_id":%q,"input":"hi"}`, made), headers...)
		tasks := "/agents/" + agent + "/ap/v1/agent/tasks"
		task := r.Do("POST", tasks, fmt.Sprintf(`{"input":"hi","additional_input":%s}`, forged), headers...).Member("task_id")
		if task != "" {
			r.Do("POST", tasks+"/"+task+"/steps", fmt.Sprintf(`{"input":"hi","additional_input":%s}`, forged), headers...)
		}
	}
	if got := decoy.all(); len(got) > 0 {
		t.Errorf("the bridge called a client's address %d times: %v", len(got), got[0])
	}
	for name, agent := range map[string]*arrivals{"a": steps, "g": graph} {
		got := agent.all()
		if len(got) < 7 {
			t.Errorf("agent %s was called %d times", name, len(got))
		}
		for _, h := range got {
			if auth := h.Values("Authorization"); len(auth) != 1 || auth[0] != "Bearer of the agent" || h.Get("X-Account") != "ours" {
				t.Errorf("agent %s is called with %q as account %q", name, auth, h.Get("X-Account"))
			}
			if all := fmt.Sprint(h); strings.Contains(all, "forged") || strings.Contains(all, elsewhere.URL) {
				t.Errorf("a call of agent %s contains a client's values: %s", name, all)
			}
		}
	}
}

// forgedSettings names another server and other credentials by all names that a bridge might look for, flat and nested.
func forgedSettings(url string) string {
	flat := map[string]any{"headers": map[string]string{"Authorization": "forged", "X-Account": "forged"}}
	for _, name := range []string{"url", "base_url", "api_base", "api_url", "endpoint", "upstream", "upstream_url", "host", "target", "callback", "callback_url", "proxy"} {
		flat[name] = url
	}
	for _, name := range []string{"authorization", "Authorization", "x-api-key", "api_key", "token", "x_account"} {
		flat[name] = "forged"
	}
	deep := map[string]any{"apbridge": flat, "agent": flat, "agents": map[string]any{"a": flat, "g": flat}, "configurable": flat, "langgraph_auth_user": flat}
	for name, value := range flat {
		deep[name] = value
	}
	b, err := json.Marshal(deep)
	if err != nil {
		panic(err)
	}
	return string(b)
}
