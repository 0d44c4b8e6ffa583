package bench

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

// benchSteps is the number of steps of a task of the instant agent.
const benchSteps = 3

// benchPace is the duration of a step of the paced agent, like a call of a fast model.
const benchPace = 20 * time.Millisecond

// instantAgent is a task/step agent whose steps take no time, or only a pause. Like any agent, it reads and writes JSON
// and keeps its tasks, so that measured calls include realistic handling instead of a fixed text.
type instantAgent struct {
	steps  int
	pause  time.Duration
	output func(n int) string

	mu    sync.Mutex
	tasks map[string]*instantTask // finished tasks are removed
}

// JSON of Agent Protocol v1, schemas Task and Step.
type (
	instantTask struct {
		ID         string         `json:"task_id"`
		Input      string         `json:"input"`
		Additional map[string]any `json:"additional_input"`
		Artifacts  []any          `json:"artifacts"`
		done       int
	}
	instantStep struct {
		ID         string         `json:"step_id"`
		TaskID     string         `json:"task_id"`
		Name       string         `json:"name"`
		Status     string         `json:"status"`
		Input      string         `json:"input"`
		Output     string         `json:"output"`
		Additional map[string]any `json:"additional_output"`
		Artifacts  []any          `json:"artifacts"`
		IsLast     bool           `json:"is_last"`
	}
	instantRequest struct {
		Input      string         `json:"input"`
		Additional map[string]any `json:"additional_input"`
	}
)

func newInstantAgent() *instantAgent {
	return &instantAgent{steps: benchSteps, output: instantWork, tasks: map[string]*instantTask{}}
}

func newPacedAgent() *instantAgent {
	a := newInstantAgent()
	a.pause = benchPace
	return a
}

func (a *instantAgent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked instantRequest
	if r.ContentLength > 0 {
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			http.Error(w, `{"message":"no JSON"}`, http.StatusUnprocessableEntity)
			return
		}
	}
	path := strings.TrimPrefix(r.URL.Path, "/ap/v1/agent/tasks")
	task, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch {
	case path == r.URL.Path:
		http.NotFound(w, r)
	case r.Method == http.MethodPost && task == "":
		instantReply(w, a.create(asked))
	case r.Method == http.MethodPost && rest == "steps":
		pause(r, a.pause)
		a.step(w, task, asked)
	case task == "":
		instantReply(w, map[string]any{"tasks": []any{}, "pagination": instantPagination})
	case rest == "artifacts", rest == "steps":
		instantReply(w, map[string]any{rest: []any{}, "pagination": instantPagination})
	default:
		instantReply(w, &instantTask{ID: task, Artifacts: []any{}})
	}
}

var instantPagination = map[string]int{"total_items": 0, "total_pages": 0, "current_page": 1, "page_size": 10}

func (a *instantAgent) create(asked instantRequest) *instantTask {
	task := &instantTask{ID: uuid.NewString(), Input: asked.Input, Additional: asked.Additional, Artifacts: []any{}}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tasks[task.ID] = task
	return task
}

func (a *instantAgent) step(w http.ResponseWriter, id string, asked instantRequest) {
	n := a.count(id)
	if n == 0 {
		http.Error(w, `{"message":"no such task"}`, http.StatusNotFound)
		return
	}
	instantReply(w, &instantStep{
		ID: uuid.NewString(), TaskID: id, Name: "work", Status: "completed", Input: asked.Input, Output: a.output(n),
		Additional: map[string]any{}, Artifacts: []any{}, IsLast: n == a.steps,
	})
}

// count returns the number of the task's next step, from 1. It returns 0 if there is no such task.
func (a *instantAgent) count(id string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	task := a.tasks[id]
	if task == nil {
		return 0
	}
	if task.done++; task.done == a.steps {
		delete(a.tasks, id)
	}
	return task.done
}

func instantReply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}
