package adaptertest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// Kind is a family of task/step servers with a common behaviour.
type Kind string

const (
	Plain   Kind = "plain"   // as in the v1 document
	Python  Kind = "python"  // the Python SDK: planned steps, floored pages, bare artifact list
	JS      Kind = "js"      // the JavaScript SDK: cannot list steps, 500 for unknown tasks
	Forge   Kind = "forge"   // AutoGPT's forge: page and pageSize, times without zone
	AutoGPT Kind = "autogpt" // forge with proposals; its last step has status created
	Bee     Kind = "bee"     // beebot: numbers as ids, objects as output, no statuses
	Old     Kind = "old"     // before September 2023: /agent/tasks, lists of ids, uri

	OldForge Kind = "forge 2023" // forge with uri, empty lists for unknown ids, errors as {"error"}
	Smol     Kind = "smol"       // on the Python SDK: plans all steps after the first; refuses an empty input
	Evo      Kind = "evo"        // evo.ninja, on the JavaScript SDK: quoted outputs, a new artifact at every write and read
)

// Kinds are all kinds of servers that StepAgent can imitate.
var Kinds = []Kind{Plain, Python, JS, Forge, AutoGPT, Bee, Old, OldForge, Smol, Evo}

// Family returns the server on which a kind is based. The kind behaves like it unless specified otherwise.
func (k Kind) Family() Kind {
	switch k {
	case OldForge:
		return Forge
	case Smol:
		return Python
	case Evo:
		return JS
	}
	return k
}

// Fault is a fault that occurs at a step.
type Fault string

const (
	Hang         Fault = "hang"         // no response until the client disconnects
	HTML500      Fault = "html 500"     // an error page
	BadJSON      Fault = "bad json"     // 200 with half a document
	WrongType    Fault = "wrong type"   // 200 with a step_id that is an object
	NoID         Fault = "no id"        // 200 without a step_id
	Forget       Fault = "forget"       // the server restarts with an empty memory
	DieUnheard   Fault = "die unheard"  // the connection closes before anything was done
	DieDone      Fault = "die done"     // the step is done, then the connection closes
	DieRunning   Fault = "die running"  // the connection closes, the step continues for a while
	DieHalfway   Fault = "die halfway"  // the step is done, half of the response arrives
	WrongTask    Fault = "wrong task"   // a step of another task
	Unauthorized Fault = "unauthorized" // 401 that repeats the received credential
	Overloaded   Fault = "overloaded"   // 429 with Retry-After
	Redirect     Fault = "redirect"     // 302 to another server
	Huge         Fault = "huge"         // more than the limit of an event
	CreateDies   Fault = "create dies"  // the task is created, then the connection closes
	CreateCut    Fault = "create cut"   // the connection closes before a task is created
)

// ScriptStep is the result of one POST for a step.
type ScriptStep struct {
	Output     string // JSON; "" is null
	Additional string // additional_output as JSON; "" is null
	Last       bool
	Files      [][2]string // path, content
	Rewrites   [][2]string // like Files, for existing files; not visible in the step or in their ids and times
	Fault      Fault       // occurs once, at the first request for the step
	Repeat     bool        // repeated any number of times
}

// Counts are the numbers of requests to a StepAgent.
type Counts struct{ Creates, Steps, Uploads, Downloads, Lists, Probes int }

// StepAgent is a scripted task/step agent. Safe for concurrent use; Script must not be changed after the first request.
type StepAgent struct {
	Kind   Kind
	Script []ScriptStep
	// Choose, if set, returns a script for a task when its first step is requested. files contains its uploads by path.
	Choose func(input string, files map[string]string) []ScriptStep
	// CreateFault occurs at the first creation of a task.
	CreateFault Fault

	mu      sync.Mutex
	tasks   []*stepTask
	counts  Counts
	faulted map[int]bool
	inputs  []string // raw bodies of the step POSTs
	bodies  []string // raw bodies of the creates
	polls   int
	broken  bool // the create fault has occurred
}

type stepTask struct {
	id         string
	input      string // JSON
	additional string // JSON
	steps      []*stepRow
	artifacts  []*fileRow
	script     []ScriptStep
}

type stepRow struct {
	id, status, output, additional, input string
	last                                  bool
	files                                 []*fileRow
}

type fileRow struct {
	id, path, content string
	byAgent           bool
}

// NewStepAgent returns an agent with three steps, the second of which writes a file.
func NewStepAgent(kind Kind) *StepAgent {
	return &StepAgent{Kind: kind, Script: []ScriptStep{
		{Output: `"one"`},
		{Output: `"two"`, Files: [][2]string{{"out/result.txt", "42"}}},
		{Output: `"three"`, Last: true},
	}}
}

// Counts returns the numbers of requests so far.
func (a *StepAgent) Counts() Counts {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.counts
}

// Work returns the number of steps executed.
func (a *StepAgent) Work() int { return a.Counts().Steps }

// Done returns the ids of the agent's tasks, and of its steps in the form task id, slash, step id, as far as it
// remembers them.
func (a *StepAgent) Done() (list []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range a.tasks {
		list = append(list, t.id)
		for _, s := range t.steps[:t.done()] {
			list = append(list, t.id+"/"+s.id)
		}
	}
	return list
}

// Inputs returns the raw bodies of the step POSTs, "" if there was none.
func (a *StepAgent) Inputs() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.inputs...)
}

// Creates returns the raw bodies of the task POSTs.
func (a *StepAgent) Creates() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.bodies...)
}

// Received returns the agent's content for a file in its newest task.
func (a *StepAgent) Received(path string) (string, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.tasks) == 0 {
		return "", false
	}
	for _, f := range a.tasks[len(a.tasks)-1].artifacts {
		if f.path == path {
			return f.content, true
		}
	}
	return "", false
}

func (a *StepAgent) prefix() string {
	if a.Kind == Old {
		return "/agent/tasks"
	}
	return "/ap/v1/agent/tasks"
}

// ServeHTTP responds like a server of the kind.
func (a *StepAgent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if a.Kind.Family() == JS {
		w.Header().Set("X-Powered-By", "Express")
	}
	if a.Kind.Family() == JS && r.Method == http.MethodPost && r.Header.Get("Content-Type") == "" {
		write(w, http.StatusUnsupportedMediaType, "text/html", "<pre>Unsupported Media Type</pre>")
		return
	}
	rest, ok := strings.CutPrefix(r.URL.Path, a.prefix())
	if !ok || rest != "" && rest[0] != '/' {
		write(w, http.StatusNotFound, "application/json", `{"detail":"Not Found"}`)
		return
	}
	parts := strings.Split(strings.Trim(rest, "/"), "/")
	switch {
	case rest == "" && r.Method == http.MethodPost:
		a.create(w, r)
	case rest == "":
		a.listTasks(w, r)
	case len(parts) == 1:
		a.getTask(w, parts[0])
	default:
		a.ofTask(w, r, parts)
	}
}

func (a *StepAgent) ofTask(w http.ResponseWriter, r *http.Request, parts []string) {
	switch {
	case parts[1] == "steps" && r.Method == http.MethodPost:
		a.step(w, r, parts[0])
	case parts[1] == "steps" && len(parts) == 2:
		a.listSteps(w, r, parts[0])
	case parts[1] == "steps":
		a.getStep(w, parts[0], parts[2])
	case a.Kind == Bee:
		write(w, http.StatusNotFound, "application/json", `{"detail":"Not Found"}`)
	case r.Method == http.MethodPost:
		a.upload(w, r, parts[0])
	case len(parts) == 2:
		a.listArtifacts(w, r, parts[0])
	default:
		a.download(w, parts[0], parts[2])
	}
}

func (a *StepAgent) create(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.bodies = append(a.bodies, string(body))
	fault := a.CreateFault
	if a.broken {
		fault = ""
	}
	a.broken = true
	if fault == CreateCut {
		drop(w)
		return
	}
	a.counts.Creates++
	task, problem := a.newTask(body)
	if problem != "" {
		status := http.StatusUnprocessableEntity
		if a.Kind == Smol {
			status = http.StatusInternalServerError
		}
		write(w, status, "application/json", problem)
		return
	}
	a.tasks = append(a.tasks, task)
	switch fault {
	case CreateDies:
		drop(w)
	case Unauthorized:
		write(w, 401, "application/json", `{"message":"bad credential `+r.Header.Get("Authorization")+`"}`)
	default:
		write(w, http.StatusOK, "application/json", a.taskJSON(task))
	}
}

func (a *StepAgent) newTask(body []byte) (*stepTask, string) {
	var in struct{ Input, Additional_input json.RawMessage }
	_ = json.Unmarshal(body, &in)
	if len(in.Input) == 0 && (a.Kind.Family() == Forge || a.Kind == AutoGPT) {
		return nil, `{"detail":[{"loc":["body","input"],"msg":"field required","type":"value_error.missing"}]}`
	}
	if len(in.Input) == 0 && a.Kind == Smol {
		return nil, "Internal Server Error"
	}
	t := &stepTask{id: a.id("00000000-aaaa-4000-8000-%012d", len(a.tasks)+1), input: orNull(string(in.Input)), additional: orNull(string(in.Additional_input))}
	if a.Kind.Family() == Python {
		t.steps = append(t.steps, a.plan(t, 0))
	}
	return t, ""
}

// scriptOf returns the script of a task.
func (a *StepAgent) scriptOf(t *stepTask) []ScriptStep {
	if a.Choose == nil {
		return a.Script
	}
	if t.script == nil {
		var input string
		_ = json.Unmarshal([]byte(t.input), &input)
		files := map[string]string{}
		for _, f := range t.artifacts {
			files[f.path] = f.content
		}
		t.script = a.Choose(input, files)
	}
	return t.script
}

// id returns an id in the kind's format.
func (a *StepAgent) id(format string, n int) string {
	if a.Kind == Bee {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf(format, n)
}

// plan returns a step that has not been requested yet. The Python SDK also lists such steps, with is_last already set.
func (a *StepAgent) plan(t *stepTask, n int) *stepRow {
	script := a.scriptOf(t)
	s := script[min(n, len(script)-1)]
	return &stepRow{id: a.id("00000000-bbbb-4000-8000-%012d", n+1), status: "created", output: "null", additional: "null", input: "null", last: s.Last}
}

func (a *StepAgent) find(id string) *stepTask {
	for _, t := range a.tasks {
		if t.id == id {
			return t
		}
	}
	return nil
}

func orNull(s string) string {
	if s == "" {
		return "null"
	}
	return s
}

func write(w http.ResponseWriter, status int, typ, body string) {
	w.Header().Set("Content-Type", typ)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// drop closes the connection without a response.
func drop(w http.ResponseWriter) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		conn.Close()
	}
}
