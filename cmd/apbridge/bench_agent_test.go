package main_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// benchSteps is how many steps a task of the instant agent takes.
const benchSteps = 3

// instantAgent is a task/step agent that takes no time: what is left when it
// is driven is the cost of the calls.
type instantAgent struct {
	mu    sync.Mutex
	next  int
	tasks map[string]int // steps done; ended tasks are forgotten
}

func newInstantAgent() *instantAgent { return &instantAgent{tasks: map[string]int{}} }

func (a *instantAgent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	path := strings.TrimPrefix(r.URL.Path, "/ap/v1/agent/tasks")
	task, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch {
	case path == r.URL.Path:
		http.NotFound(w, r)
	case r.Method == http.MethodPost && task == "":
		a.create(w)
	case r.Method == http.MethodPost && rest == "steps":
		a.step(w, task)
	case task == "":
		instantReply(w, `{"tasks":[],`+instantPage)
	case rest == "artifacts":
		instantReply(w, `{"artifacts":[],`+instantPage)
	case rest == "steps":
		instantReply(w, `{"steps":[],`+instantPage)
	default:
		instantReply(w, fmt.Sprintf(instantTask, task))
	}
}

const (
	instantPage = `"pagination":{"total_items":0,"total_pages":0,"current_page":1,"page_size":10}}`
	instantTask = `{"task_id":%q,"input":"hi","additional_input":{},"artifacts":[]}`
	instantStep = `{"task_id":%q,"step_id":"00000000-0000-4000-9000-%012d","name":"work","status":"completed","input":null,"output":"did part %d of the work that was asked for","additional_output":{},"artifacts":[],"is_last":%t}`
)

func (a *instantAgent) create(w http.ResponseWriter) {
	a.mu.Lock()
	a.next++
	id := fmt.Sprintf("00000000-0000-4000-8000-%012d", a.next)
	a.tasks[id] = 0
	a.mu.Unlock()
	instantReply(w, fmt.Sprintf(instantTask, id))
}

func (a *instantAgent) step(w http.ResponseWriter, task string) {
	a.mu.Lock()
	n, known := a.tasks[task]
	n++
	a.tasks[task] = n
	if n >= benchSteps || !known {
		delete(a.tasks, task)
	}
	a.mu.Unlock()
	if !known {
		http.Error(w, `{"message":"no such task"}`, http.StatusNotFound)
		return
	}
	instantReply(w, fmt.Sprintf(instantStep, task, n, n, n >= benchSteps))
}

func instantReply(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, body)
}
