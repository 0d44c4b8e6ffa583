package adaptertest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// step executes the next step of the script, or its fault.
func (a *StepAgent) step(w http.ResponseWriter, r *http.Request, taskID string) {
	body, _ := io.ReadAll(r.Body)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.inputs = append(a.inputs, string(body))
	t := a.find(taskID)
	if t == nil {
		a.unknownTask(w, taskID)
		return
	}
	if a.Kind.Family() == Forge && string(body) == "{}" {
		write(w, http.StatusUnprocessableEntity, "application/json", `{"detail":[{"loc":["body","input"],"msg":"field required"}]}`)
		return
	}
	n, script := t.done(), a.scriptOf(t)
	if n >= len(script) && !script[len(script)-1].Repeat {
		a.afterEnd(w, t)
		return
	}
	s := script[min(n, len(script)-1)]
	if fault := s.Fault; fault != "" && !a.faulted[n] {
		if a.faulted == nil {
			a.faulted = map[int]bool{}
		}
		a.faulted[n] = true
		if a.misbehave(w, r, t, n, fault, string(body)) {
			return
		}
	}
	write(w, http.StatusOK, "application/json", a.stepJSON(t, a.execute(t, n, string(body))))
}

// misbehave executes a fault. It returns false if the step continues as usual.
func (a *StepAgent) misbehave(w http.ResponseWriter, r *http.Request, t *stepTask, n int, fault Fault, body string) bool {
	switch fault {
	case Hang:
		a.mu.Unlock()
		<-r.Context().Done()
		a.mu.Lock()
	case HTML500:
		write(w, 500, "text/html", "<html><head><title>x</title></head><body><h1>Oh   no</h1><p>it broke near "+r.Header.Get("Authorization")+"</p></body></html>")
	case BadJSON:
		a.execute(t, n, body)
		write(w, 200, "application/json", `{"step_id": "abc", `)
	case WrongType:
		a.execute(t, n, body)
		write(w, 200, "application/json", `{"task_id":"`+t.id+`","step_id":{"a":1},"output":"x","is_last":true}`)
	case NoID:
		a.execute(t, n, body)
		write(w, 200, "application/json", `{"task_id":"`+t.id+`","output":"x","is_last":true}`)
	case Forget:
		a.tasks = nil
		a.unknownTask(w, t.id)
	case DieUnheard:
		drop(w)
	case DieDone:
		a.execute(t, n, body)
		drop(w)
	case DieRunning:
		row := a.execute(t, n, body)
		row.status, a.polls = "running:"+row.output, 2
		row.output = "null"
		drop(w)
	case DieHalfway:
		half := a.stepJSON(t, a.execute(t, n, body))
		w.Header().Set("Content-Length", fmt.Sprint(len(half)))
		_, _ = io.WriteString(w, half[:len(half)/2])
		panic(http.ErrAbortHandler)
	case WrongTask:
		other := &stepTask{id: "00000000-cccc-4000-8000-000000000001"}
		write(w, 200, "application/json", a.stepJSON(other, a.execute(t, n, body)))
	case Unauthorized:
		write(w, 401, "application/json", `{"message":"bad credential `+r.Header.Get("Authorization")+`"}`)
	case Overloaded:
		w.Header().Set("Retry-After", "7")
		write(w, 429, "application/json", `{"message":"slow down"}`)
	case Redirect:
		w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
		write(w, 302, "text/plain", "")
	case Huge:
		write(w, 200, "application/json", `{"output":"`+strings.Repeat("x", 2<<20)+`"}`)
	default:
		return false
	}
	return true
}

func (t *stepTask) done() int {
	n := 0
	for _, s := range t.steps {
		if s.status != "created" || s.output != "null" {
			n++
		}
	}
	return n
}

// execute executes step n.
func (a *StepAgent) execute(t *stepTask, n int, body string) *stepRow {
	a.counts.Steps++
	script := a.scriptOf(t)
	s := script[min(n, len(script)-1)]
	row := a.plan(t, n)
	if a.Kind.Family() == Python {
		row = t.steps[n]
	} else {
		t.steps = append(t.steps, row)
	}
	row.status, row.output, row.additional, row.last = "completed", orNull(s.Output), orNull(s.Additional), s.Last
	if a.Kind == AutoGPT && s.Last {
		row.status = "created"
	}
	if a.Kind == Evo && s.Output != "" {
		row.output = strconv.Quote(s.Output)
	}
	row.input = a.inputOf(body)
	a.touch(t, row, s.Files)
	for _, f := range s.Rewrites {
		t.put(f[0], f[1], false)
	}
	for k := n + 1; a.Kind.Family() == Python && !s.Last && k == len(t.steps) && (k == n+1 || a.Kind == Smol && k < len(script)); k++ {
		t.steps = append(t.steps, a.plan(t, k))
	}
	return row
}

// touch writes the files of a step.
func (a *StepAgent) touch(t *stepTask, row *stepRow, files [][2]string) {
	for _, f := range files {
		if a.Kind != Evo {
			row.files = append(row.files, t.put(f[0], f[1], true))
			continue
		}
		t.again(f[0], "not yet") // created empty, written, and read again
		row.files = append(row.files, t.again(f[0], f[1]), t.again(f[0], f[1]))
	}
}

func (a *StepAgent) inputOf(body string) string {
	var in struct{ Input json.RawMessage }
	_ = json.Unmarshal([]byte(body), &in)
	if len(in.Input) == 0 && (a.Kind.Family() == Forge || a.Kind == AutoGPT) {
		return `"y"`
	}
	return orNull(string(in.Input))
}

func (a *StepAgent) afterEnd(w http.ResponseWriter, t *stepTask) {
	switch a.Kind.Family() {
	case Python:
		write(w, 500, "text/plain", "Internal Server Error")
	case Bee:
		write(w, 400, "application/json", `{"detail":"Task is complete"}`)
	default:
		write(w, 200, "application/json", a.stepJSON(t, t.steps[len(t.steps)-1]))
	}
}

// unknownList responds to a list request for an unknown task.
func (a *StepAgent) unknownList(w http.ResponseWriter, r *http.Request, id, key string) {
	if a.Kind == OldForge {
		a.writeList(w, r, key, nil, nil)
		return
	}
	a.unknownTask(w, id)
}

func (a *StepAgent) unknownTask(w http.ResponseWriter, id string) {
	switch a.Kind {
	case OldForge:
		write(w, 404, "application/json", `{"error":"Task not found"}`)
	case JS, Evo:
		write(w, 500, "application/json", `{"error":"Task with id `+id+` not found"}`)
	case Forge, AutoGPT:
		write(w, 500, "text/plain; charset=utf-8", "Internal Server Error")
	case Bee:
		write(w, 400, "application/json", `{"detail":"Task not found"}`)
	default:
		write(w, 404, "application/json", `{"message":"Task with `+id+` not found."}`)
	}
}

func (a *StepAgent) listSteps(w http.ResponseWriter, r *http.Request, id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counts.Lists++
	t := a.find(id)
	switch {
	case a.Kind.Family() == JS:
		write(w, 500, "text/html", "<pre>Internal Server Error: response should be object</pre>")
		return
	case t == nil:
		a.unknownList(w, r, id, "steps")
		return
	}
	a.settle(t)
	objects, ids := make([]string, 0, len(t.steps)), make([]string, 0, len(t.steps))
	for _, s := range t.steps {
		objects, ids = append(objects, a.stepJSON(t, s)), append(ids, a.idJSON(s.id))
	}
	a.writeList(w, r, "steps", objects, ids)
}

// settle ends a step that outlived its connection, once the step was queried a few times.
func (a *StepAgent) settle(t *stepTask) {
	if a.polls--; a.polls > 0 {
		return
	}
	for _, s := range t.steps {
		if output, ok := strings.CutPrefix(s.status, "running:"); ok {
			s.status, s.output = "completed", output
		}
	}
}

func (a *StepAgent) getStep(w http.ResponseWriter, taskID, stepID string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.find(taskID)
	if t == nil {
		a.unknownTask(w, taskID)
		return
	}
	for _, s := range t.steps {
		if s.id == stepID || a.Kind.Family() == Python {
			write(w, 200, "application/json", a.stepJSON(t, s))
			return
		}
	}
	write(w, 404, "application/json", `{"message":"no such step"}`)
}

func (a *StepAgent) stepJSON(t *stepTask, s *stepRow) string {
	status, _, _ := strings.Cut(s.status, ":")
	switch a.Kind.Family() {
	case JS:
		return fmt.Sprintf(`{"task_id":"%s","step_id":"%s","input":%s,"status":"completed","output":%s,"artifacts":[%s],"is_last":%t}`,
			t.id, s.id, s.input, s.output, a.filesJSON(s.files), s.last)
	case Forge, AutoGPT:
		if status == "running" {
			status = "created" // its database knows only completed and created
		}
		return fmt.Sprintf(`{"name":%s,"input":%s,"additional_input":{},"created_at":"2026-01-02T03:04:05.123456","modified_at":"2026-01-02T03:04:06.5","task_id":"%s","step_id":"%s","status":"%s","output":%s,"additional_output":%s,"artifacts":[%s],"is_last":%t}`,
			s.input, s.input, t.id, s.id, status, s.output, s.additional, a.filesJSON(s.files), s.last)
	case Bee:
		return fmt.Sprintf(`{"task_id":%s,"step_id":%s,"output":{"text":%s},"artifacts":null,"is_last":%t}`, t.id, s.id, s.output, s.last)
	case Old:
		last := ""
		if s.last {
			last = `,"is_last":true`
		}
		return fmt.Sprintf(`{"task_id":"%s","step_id":"%s","name":null,"output":%s,"additional_output":%s,"artifacts":[%s]%s}`,
			t.id, s.id, s.output, s.additional, a.filesJSON(s.files), last)
	}
	return fmt.Sprintf(`{"input":%s,"additional_input":null,"task_id":"%s","step_id":"%s","name":null,"status":"%s","output":%s,"additional_output":%s,"artifacts":[%s],"is_last":%t}`,
		s.input, t.id, s.id, status, s.output, s.additional, a.filesJSON(s.files), s.last)
}
