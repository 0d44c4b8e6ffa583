// Package forgetful is an agent of the Agent Protocol v1 that answers each task in one step with the text of the task
// and remembers nothing between tasks. For "Remember: …" it requests, in additional_output.memory, that a fact is
// stored in the namespaces that it may write (additional_input.apbridge.store).
package forgetful

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
)

type object = map[string]any

type task struct {
	ID         string `json:"task_id"`
	Input      string `json:"input"`
	Additional struct {
		Apbridge struct {
			Store struct {
				Namespaces [][]string `json:"namespaces"`
			} `json:"store"`
		} `json:"apbridge"`
	} `json:"additional_input"`
	Artifacts []object `json:"artifacts"`
	steps     []object
}

// step answers the task.
func (t *task) step() object {
	known, request, told := strings.Cut(t.Input, "\nCurrent request:\n")
	if !told {
		known, request = "", t.Input
	}
	s := object{"step_id": rand.Text(), "task_id": t.ID, "name": "answer", "status": "completed", "is_last": true, "artifacts": []object{},
		"output": "I know nothing about you."}
	if known = strings.TrimSpace(known); known != "" {
		s["output"] = "I was told: " + known
	}
	if fact, asked := strings.CutPrefix(request, "Remember: "); asked {
		s["output"] = "I will have it kept."
		s["additional_output"] = object{"memory": t.keep(fact)}
	}
	return s
}

// keep returns the request to store a fact in each namespace that the agent may use.
func (t *task) keep(fact string) []object {
	var list []object
	for _, ns := range t.Additional.Apbridge.Store.Namespaces {
		list = append(list, object{"namespace": ns, "key": rand.Text()[:8], "value": object{"text": fact}})
	}
	return list
}

// Handler returns the handler of a new agent.
func Handler() http.Handler {
	var mu sync.Mutex
	tasks, mux := map[string]*task{}, http.NewServeMux()
	handle := func(pattern string, do func(r *http.Request, t *task) any) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			t := tasks[r.PathValue("task")]
			if r.PathValue("task") != "" && t == nil {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(do(r, t))
		})
	}
	handle("POST /ap/v1/agent/tasks", func(r *http.Request, _ *task) any {
		t := &task{}
		_ = json.NewDecoder(r.Body).Decode(t)
		t.ID, t.Artifacts = rand.Text(), []object{}
		tasks[t.ID] = t
		return t
	})
	handle("GET /ap/v1/agent/tasks", func(*http.Request, *task) any { return page("tasks", []object{}) })
	handle("GET /ap/v1/agent/tasks/{task}", func(_ *http.Request, t *task) any { return t })
	handle("GET /ap/v1/agent/tasks/{task}/steps", func(_ *http.Request, t *task) any { return page("steps", t.steps) })
	handle("GET /ap/v1/agent/tasks/{task}/artifacts", func(_ *http.Request, t *task) any { return page("artifacts", t.Artifacts) })
	handle("POST /ap/v1/agent/tasks/{task}/steps", func(_ *http.Request, t *task) any {
		if len(t.steps) == 0 {
			t.steps = append(t.steps, t.step())
		}
		return t.steps[0]
	})
	return mux
}

// page returns all elements on one page, whatever page was requested.
func page(name string, all []object) object {
	n := len(all)
	return object{name: append([]object{}, all...), "pagination": object{"total_items": n, "total_pages": 1, "current_page": 1, "page_size": max(n, 1)}}
}
