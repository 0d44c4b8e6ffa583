package judge

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/agent"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/challenge"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/report"
)

// scripted is a server of the protocol whose files exist from the start.
type scripted struct {
	last  int               // the last step; 0 means never
	files map[string]string // by path
	// answers replaces the responses to "METHOD path". TASK is replaced by the id.
	answers map[string]string
	more    string // of each step, as ,"additional_output":{}

	mu    sync.Mutex
	calls []string
	heard []*http.Request
	forms []string
	steps int
}

func (a *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	a.mu.Lock()
	defer a.mu.Unlock()
	route := r.Method + " " + strings.Replace(strings.TrimPrefix(r.URL.Path, "/ap/v1/agent/tasks"), "task-1", "TASK", 1)
	a.calls, a.heard = append(a.calls, route), append(a.heard, r)
	if strings.HasPrefix(route, "POST /TASK/artifacts") {
		a.forms = append(a.forms, string(body))
	}
	answer, ok := a.answers[route]
	if !ok {
		answer = a.answer(route)
	}
	if status, text, found := strings.Cut(answer, "|"); found {
		w.WriteHeader(map[string]int{"404": 404, "500": 500}[status])
		answer = text
	}
	_, _ = io.WriteString(w, answer)
}

func (a *scripted) answer(route string) string {
	switch route {
	case "POST ":
		a.steps = 0
		return `{"task_id":"task-1","input":"x","artifacts":[]}`
	case "POST /TASK/artifacts":
		return `{"artifact_id":"in","file_name":"x","agent_created":false}`
	case "POST /TASK/steps":
		a.steps++
		return fmt.Sprintf(`{"task_id":"task-1","step_id":"%d","status":"completed","output":"said\n%d","artifacts":[],"is_last":%t%s}`, a.steps, a.steps, a.steps == a.last, a.more)
	case "GET /TASK/artifacts":
		var list []string
		for at := range a.files {
			row, _ := json.Marshal(map[string]any{"artifact_id": at, "agent_created": true, "file_name": filepath.Base(at), "relative_path": at})
			list = append(list, string(row))
		}
		return `{"artifacts":[` + strings.Join(list, ",") + `],"pagination":{}}`
	}
	return a.files[strings.TrimPrefix(route, "GET /TASK/artifacts/")]
}

// loaded loads challenges from pairs of path and content.
func loaded(t *testing.T, files ...string) []challenge.Challenge {
	t.Helper()
	tree := fstest.MapFS{}
	for i := 0; i+1 < len(files); i += 2 {
		tree[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	found, err := challenge.Load(tree, "tree")
	if err != nil || len(found.Faults) > 0 {
		t.Fatal(err, found.Faults)
	}
	list, _ := challenge.Order(found.Challenges)
	return list
}

func against(t *testing.T, h http.Handler, o Options) Options {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	if o.Agent == nil {
		o.Agent = &agent.Client{Patience: time.Minute, HTTP: &http.Client{}}
	}
	o.Agent.Base = server.URL
	o.Repeat, o.Parallel = max(o.Repeat, 1), max(o.Parallel, 1)
	if o.Python == nil {
		o.Python = python(t, "", time.Minute)
	}
	if o.Watch == nil {
		o.Watch = func(report.Event) {}
	}
	return o
}

func python(t *testing.T, named string, limit time.Duration) *Python {
	t.Helper()
	p, err := NewPython(named, PythonLimits{Time: limit, Memory: 2 << 30})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// try attempts one challenge, made from a data.json and the files next to it.
func try(t *testing.T, h http.Handler, o Options, data string, files ...string) report.Attempt {
	t.Helper()
	all := []string{"c/data.json", data}
	for i, text := range files {
		if i%2 == 0 {
			text = "c/" + text
		}
		all = append(all, text)
	}
	o.Challenges = loaded(t, all...)
	return Run(t.Context(), against(t, h, o)).Results[0].Attempts[0]
}

func data(ground string) string {
	return `{"name":"X","task":"do it","category":["general"],"dependencies":[],"cutoff":5,"ground":` + ground + `,"info":{"difficulty":"basic","description":"Tests if the agent can"}}`
}

func named(name, depends string) string {
	return strings.NewReplacer(`"X"`, `"`+name+`"`, `"dependencies":[]`, `"dependencies":[`+depends+`]`).Replace(data(wantsHi))
}

const wantsHi = `{"answer":"hi","should_contain":["Hi"],"should_not_contain":["no"],"files":["a.txt"],"eval":{"type":"file"}}`
