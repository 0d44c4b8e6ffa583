// Package legacyagent is a small agent in the style of AutoGPT: it serves the Agent Protocol v1 (tasks, steps,
// artifacts) and forgets everything when it stops. It needs no model, and reports words as tokens. It announces its plan,
// writes a file and finishes. A task with the text "ask me" begins with a question in AutoGPT's form. With the text
// "then fail" it cannot write its file.
package legacyagent

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

type object = map[string]any

type task struct {
	ID         string     `json:"task_id"`
	Input      string     `json:"input"`
	Additional any        `json:"additional_input"`
	Artifacts  []artifact `json:"artifacts"`
	steps      []object
	cost       float64 // of its steps so far
}

type artifact struct {
	ID      string `json:"artifact_id"`
	Name    string `json:"file_name"`
	Path    string `json:"relative_path,omitempty"`
	ByAgent bool   `json:"agent_created"`
	content []byte
}

// Prices of a token in US dollars, like those of a model.
const (
	inputPrice  = 3e-6
	outputPrice = 15e-6
)

// report adds to a step what it used and, as AutoGPT does, the cost of the task so far.
func (t *task) report(additional object, output string) {
	in, out := len(strings.Fields(t.Input)), len(strings.Fields(output))
	t.cost += float64(in)*inputPrice + float64(out)*outputPrice
	additional["usage_metadata"] = object{"input_tokens": in, "output_tokens": out, "total_tokens": in + out}
	additional["task_cumulative_cost"] = t.cost
}

// request returns the input without the conversation so far, which a bridge may have prepended.
func (t *task) request() string {
	if _, words, told := strings.Cut(t.Input, "\nCurrent request:\n"); told {
		return words
	}
	return t.Input
}

// next executes one step. After the last step it returns that step again.
func (t *task) next(input string) object {
	words := t.request()
	additional := object{}
	s := object{"additional_output": additional, "step_id": rand.Text(), "task_id": t.ID, "status": "completed", "input": input, "is_last": false, "artifacts": []artifact{}}
	n, asks := len(t.steps), strings.Contains(strings.ToLower(words), "ask me")
	if !asks {
		n++ // no question
	}
	switch n {
	case 0:
		s["name"], s["output"] = "ask_user", "What shall the file say?"
		additional["use_tool"] = object{"name": "ask_user", "arguments": object{"question": s["output"]}}
	case 1:
		s["name"], s["output"] = "think", fmt.Sprintf("I was asked: %s. I was given %d file(s). I will write answer.txt.", words, len(t.Artifacts))
	case 2:
		text := "Answer to: " + words + "\n"
		if asks {
			text += fmt.Sprintf("You told me: %s\n", t.steps[1]["input"])
		}
		for _, a := range t.Artifacts {
			text += "--- " + a.Name + " ---\n" + string(a.content) + "\n"
		}
		made := artifact{ID: rand.Text(), Name: "answer.txt", ByAgent: true, content: []byte(text)}
		t.Artifacts = append(t.Artifacts, made)
		s["name"], s["output"], s["artifacts"] = "write_file", "I wrote answer.txt.", []artifact{made}
	case 3:
		s["name"], s["output"], s["is_last"] = "finish", "Done: "+words, true
	default:
		return t.steps[len(t.steps)-1]
	}
	t.report(additional, fmt.Sprint(s["output"]))
	t.steps = append(t.steps, s)
	return s
}

// Handler returns the handler of a new agent without tasks. Steps take no time, so a single lock is enough.
func Handler() http.Handler {
	var mu sync.Mutex
	tasks, mux := []*task{}, http.NewServeMux()
	handle := func(pattern string, do func(r *http.Request, t *task) (status int, reply any)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			t, status, reply := &task{}, http.StatusNotFound, no("no such task")
			for _, known := range tasks {
				if known.ID == r.PathValue("task") {
					t = known
				}
			}
			if t.ID == r.PathValue("task") {
				status, reply = do(r, t)
			}
			if content, ok := reply.([]byte); ok {
				_, _ = w.Write(content)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(reply)
		})
	}
	const all, one = "/ap/v1/agent/tasks", "/ap/v1/agent/tasks/{task}"
	handle("GET "+all, func(*http.Request, *task) (int, any) { return list("tasks", tasks) })
	handle("GET "+one, func(_ *http.Request, t *task) (int, any) { return 200, t })
	handle("GET "+one+"/steps", func(_ *http.Request, t *task) (int, any) { return list("steps", t.steps) })
	handle("GET "+one+"/artifacts", func(_ *http.Request, t *task) (int, any) { return list("artifacts", t.Artifacts) })
	handle("POST "+all, func(r *http.Request, t *task) (int, any) {
		if json.NewDecoder(r.Body).Decode(t) != nil {
			return 422, no("the body is not a task")
		}
		t.ID, t.Artifacts, tasks = rand.Text(), []artifact{}, append(tasks, t)
		return 200, t
	})
	handle("POST "+one+"/steps", func(r *http.Request, t *task) (int, any) {
		var said struct{ Input string }
		if err := json.NewDecoder(r.Body).Decode(&said); err != nil && err != io.EOF {
			return 422, no("the body is not a step")
		}
		if len(t.steps) > 0 && strings.Contains(strings.ToLower(t.request()), "then fail") {
			return 500, no("cannot write answer.txt: the disk is full")
		}
		return 200, t.next(said.Input)
	})
	handle("POST "+one+"/artifacts", func(r *http.Request, t *task) (int, any) {
		file, header, err := r.FormFile("file")
		if err != nil {
			return 422, no("no file in the form")
		}
		content, _ := io.ReadAll(file)
		t.Artifacts = append(t.Artifacts, artifact{rand.Text(), header.Filename, r.FormValue("relative_path"), false, content})
		return 200, t.Artifacts[len(t.Artifacts)-1]
	})
	handle("GET "+one+"/artifacts/{artifact}", func(r *http.Request, t *task) (int, any) {
		for _, a := range t.Artifacts {
			if a.ID == r.PathValue("artifact") {
				return 200, a.content
			}
		}
		return 404, no("no such artifact")
	})
	return mux
}

func no(why string) any { return object{"message": why} }

// list returns all elements on one page, whatever page was requested.
func list[T any](name string, all []T) (int, any) {
	n := len(all)
	return 200, object{name: append([]T{}, all...), "pagination": object{"total_items": n, "total_pages": 1, "current_page": 1, "page_size": max(n, 1)}}
}
