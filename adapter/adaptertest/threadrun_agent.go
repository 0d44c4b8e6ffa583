package adaptertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// ThreadPlay describes one upstream run of a scripted thread/run agent. Frames have the form "name data". In them and
// in State, {{run}} and {{thread}} stand for the ids, and {{checkpoint}} for an id that is new for every run.
type ThreadPlay struct {
	Frames []string
	State  string // of the thread after the run
	// Deep is State including the states of the graphs in its tasks. Inner contains the states of these graphs by
	// namespace, newest first. History contains the states of the root including State; if it is empty, there is only
	// State.
	Deep    string
	Inner   map[string][]string
	History []string
	Status  string // of the run after its frames; success by default
	// CutAfter breaks the connection after a number of frames: the first number applies to the first opening of the
	// stream, and so on. -1, or no more numbers, means not at all.
	CutAfter []int
	// CloseAfter is like CutAfter, but the stream ends as if it were complete.
	CloseAfter []int
	// Resume determines where a stream opened with a Last-Event-ID continues.
	Resume Resume
	// NoIDs omits the ids of frames.
	NoIDs bool
	// Hang means that nothing follows the frames and that the run continues until it is cancelled.
	Hang bool
	// Linger keeps the stream open after the run's end until the client disconnects.
	Linger bool
	// LoseAnswer means that the run is created but the connection breaks before the response.
	LoseAnswer bool
}

// Resume is a way in which servers continue a stream.
type Resume int

const (
	ResumeAfter Resume = iota // after the frame with the id, as in the standard
	ResumeAt                  // with that frame
	ResumeAll                 // with the first frame
)

// Canned is a fixed response to a route. Without a Status the connection breaks instead.
type Canned struct {
	Status int
	Type   string // content type
	Body   string
	Header map[string]string
	Times  int // how often it is sent; 0 means always
}

// ThreadAgent is a scripted LangGraph server with one graph, "agent". The nth run on a thread plays the nth play, or
// the last one. Canned responses take precedence. Their keys are "METHOD /route" with {t} and {r} for ids. It is safe
// for concurrent use once it serves.
type ThreadAgent struct {
	Plays []ThreadPlay
	// Choose, if set, returns the play for a run from the body of its request.
	Choose func(body []byte) ThreadPlay
	Canned map[string]*Canned
	// Aegra makes the agent behave like that server.
	Aegra bool
	// NoCreate means that a thread must exist before its first run (if_not_exists is not supported).
	NoCreate bool

	mu      sync.Mutex
	threads map[string]*scriptedThread
	made    int
	updates int
	items   map[string]storedItem // of the store, by namespace and key
	calls   map[string]int
	bodies  map[string][]json.RawMessage
}

type scriptedThread struct {
	state string
	runs  []*scriptedRun
}

type scriptedRun struct {
	id, thread string
	play       ThreadPlay
	metadata   json.RawMessage
	status     string
	opened     int
	stopped    chan struct{}
}

// Calls returns how often a route was called, as in "POST /threads/{t}/runs/stream".
func (a *ThreadAgent) Calls(route string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.calls[route]
}

// Bodies returns the request bodies of a route in order.
func (a *ThreadAgent) Bodies(route string) []json.RawMessage {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]json.RawMessage(nil), a.bodies[route]...)
}

// Work returns the number of runs created.
func (a *ThreadAgent) Work() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.made
}

// Done returns the ids of the agent's runs, as far as it remembers them, in no particular order.
func (a *ThreadAgent) Done() (list []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range a.threads {
		for _, r := range t.runs {
			list = append(list, r.id)
		}
	}
	return list
}

// Threads returns the current number of threads.
func (a *ThreadAgent) Threads() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.threads)
}

// Drop removes every thread, like a restart of an in-memory server.
func (a *ThreadAgent) Drop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.threads = nil
}

// Play replaces the plays for new runs.
func (a *ThreadAgent) Play(plays ...ThreadPlay) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.Plays = plays
}

// Use sets the state of a thread, like a client that uses the server directly.
func (a *ThreadAgent) Use(thread, state string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.threads[thread].state = fill(state, thread, "")
}

func (a *ThreadAgent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	route, thread, run := threadRoute(r)
	body, _ := io.ReadAll(r.Body)
	if c := a.record(route, body); c != nil {
		c.write(w)
		return
	}
	if problem := aegraRefuses(route, r.URL.Query(), body); a.Aegra && problem != "" {
		refuseAegra(w, problem)
		return
	}
	switch route {
	case "GET /ok":
		io.WriteString(w, `{"ok":true}`)
	case "POST /assistants/search":
		jsonBody(w, `[{"assistant_id":"fe096781-5601-53d2-b2f6-0d3403f7e9ca","version":1,"config":{},"context":{},"created_at":"2026-11-21T05:02:02.388Z","updated_at":"2026-11-21T05:02:02.388Z","graph_id":"agent","metadata":{"created_by":"system"},"name":"agent","description":null}]`)
	case "GET /assistants/{a}/graph":
		jsonBody(w, `{"nodes":[{"id":"__start__"},{"id":"plan"},{"id":"answer"},{"id":"__end__"}],"edges":[{"source":"__start__","target":"plan","conditional":false},{"source":"plan","target":"answer","conditional":false},{"source":"answer","target":"__end__","conditional":false}]}`)
	case "POST /threads":
		a.createThread(w, body)
	default:
		if !a.store(w, r, route, body) {
			a.inThread(w, r, route, thread, run, body)
		}
	}
}

// record counts a call and returns its canned response, if there is one.
func (a *ThreadAgent) record(route string, body []byte) *Canned {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.calls == nil {
		a.calls, a.bodies = map[string]int{}, map[string][]json.RawMessage{}
	}
	a.calls[route]++
	a.bodies[route] = append(a.bodies[route], body)
	c := a.Canned[route]
	if c == nil || (c.Times > 0 && a.calls[route] > c.Times) {
		return nil
	}
	return c
}

func (c *Canned) write(w http.ResponseWriter) {
	if c.Status == 0 {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", c.Type)
	for k, v := range c.Header {
		w.Header().Set(k, v)
	}
	w.WriteHeader(c.Status)
	io.WriteString(w, c.Body)
}

// threadRoute returns the route of a request and the ids in its path.
func threadRoute(r *http.Request) (route, thread, run string) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if len(parts) > 1 && parts[0] == "threads" {
		thread, parts[1] = parts[1], "{t}"
	}
	if len(parts) > 1 && parts[0] == "assistants" && parts[1] != "search" {
		parts[1] = "{a}"
	}
	if len(parts) > 3 && parts[2] == "state" && parts[3] != "checkpoint" {
		parts[3] = "{c}"
	}
	if len(parts) > 3 && parts[2] == "runs" && parts[3] != "stream" {
		run, parts[3] = parts[3], "{r}"
	}
	return r.Method + " /" + strings.Join(parts, "/"), thread, run
}

func (a *ThreadAgent) createThread(w http.ResponseWriter, body []byte) {
	var req struct {
		ID       string          `json:"thread_id"`
		Metadata json.RawMessage `json:"metadata"`
	}
	_ = json.Unmarshal(body, &req)
	a.mu.Lock()
	defer a.mu.Unlock()
	if req.ID == "" {
		req.ID = fmt.Sprintf("3386cfa8-c845-408d-b5cf-%012d", len(a.threads)+1)
	}
	a.open(req.ID)
	jsonBody(w, `{"thread_id":"`+req.ID+`","created_at":"2026-11-21T05:04:01.644Z","updated_at":"2026-11-21T05:04:01.644Z","metadata":{},"status":"idle","config":{}}`)
}

// open returns a thread, which it creates if necessary. The lock must be held.
func (a *ThreadAgent) open(id string) *scriptedThread {
	if a.threads == nil {
		a.threads = map[string]*scriptedThread{}
	}
	if a.threads[id] == nil {
		a.threads[id] = &scriptedThread{state: noState}
	}
	return a.threads[id]
}

// mustCreate reports whether a request for a run must create its thread.
func (a *ThreadAgent) mustCreate(route string, body []byte) bool {
	var req struct {
		IfNotExists string `json:"if_not_exists"`
	}
	_ = json.Unmarshal(body, &req)
	return route == "POST /threads/{t}/runs/stream" && req.IfNotExists == "create" && !a.NoCreate
}

func (a *ThreadAgent) inThread(w http.ResponseWriter, r *http.Request, route, thread, run string, body []byte) {
	a.mu.Lock()
	t := a.threads[thread]
	if t == nil && a.mustCreate(route, body) {
		t = a.open(thread)
	}
	a.mu.Unlock()
	if t == nil {
		a.noThread(w, route, thread)
		return
	}
	if bytes.Contains(body, []byte(`"checkpoint_id":""`)) {
		http.Error(w, `{"issues":[{"validation":"uuid","path":["checkpoint","checkpoint_id"]}],"name":"ZodError"}`, http.StatusBadRequest)
		return
	}
	switch route {
	case "GET /threads/{t}":
		jsonBody(w, `{"thread_id":"`+thread+`","status":"idle","metadata":{},"values":{},"interrupts":{}}`)
	case "DELETE /threads/{t}":
		a.mu.Lock()
		delete(a.threads, thread)
		a.mu.Unlock()
		w.WriteHeader(http.StatusNoContent)
	case "GET /threads/{t}/state":
		a.headState(w, r, t)
	case "GET /threads/{t}/state/{c}", "POST /threads/{t}/state/checkpoint":
		answer, status := a.pastState(t, r, body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		io.WriteString(w, answer)
	case "POST /threads/{t}/history":
		jsonBody(w, a.history(t, body))
	case "POST /threads/{t}/state":
		a.updateState(w, t, thread, body)
	case "GET /threads/{t}/runs":
		a.listRuns(w, t)
	case "POST /threads/{t}/runs/stream":
		a.startRun(w, r, t, thread, body)
	default:
		a.inRun(w, r, route, t, run)
	}
}

// noThread writes the real server's response for an unknown thread. For new runs, its text is that for a busy thread.
func (a *ThreadAgent) noThread(w http.ResponseWriter, route, thread string) {
	if route == "POST /threads/{t}/runs/stream" {
		http.Error(w, "Thread is already running a task. Wait for it to finish or choose a different multitask strategy.", http.StatusUnprocessableEntity)
		return
	}
	http.Error(w, "Thread with ID "+thread+" not found", http.StatusNotFound)
}

// NoNode is a node that the agent does not have. It refuses state updates for it.
const NoNode = "nowhere"

func (a *ThreadAgent) updateState(w http.ResponseWriter, t *scriptedThread, thread string, body []byte) {
	var req struct {
		stateRequest
		Values json.RawMessage `json:"values"`
		AsNode string          `json:"as_node"`
	}
	_ = json.Unmarshal(body, &req)
	if ns := req.Checkpoint.NS; ns != "" {
		jsonBody(w, a.updateInner(t, ns, req.Values))
		return
	}
	if req.AsNode == NoNode {
		http.Error(w, "Node "+NoNode+" does not exist", http.StatusUnprocessableEntity)
		return
	}
	a.mu.Lock()
	a.updates++
	id := fmt.Sprintf("1f1e5690-34be-6bb0-8004-%012d", a.updates)
	t.state = fill(`{"values":`+string(req.Values)+`,"next":[],"tasks":[],"metadata":{"source":"update","step":0,"parents":{}},"created_at":"2026-11-21T05:04:19.726Z","checkpoint":{"thread_id":"{{thread}}","checkpoint_ns":"","checkpoint_id":"`+id+`"},"parent_checkpoint":null}`, thread, "")
	a.mu.Unlock()
	jsonBody(w, `{"checkpoint":{"thread_id":"`+thread+`","checkpoint_ns":"","checkpoint_id":"`+id+`"}}`)
}

// fill inserts the ids of the run. {{ours}} stands for the id that the bridge has written into its metadata.
func (r *scriptedRun) fill(text string) string {
	var mark struct {
		Ours string `json:"apbridge_run_id"`
	}
	_ = json.Unmarshal(r.metadata, &mark)
	return strings.ReplaceAll(fill(text, r.thread, r.id), "{{ours}}", mark.Ours)
}

func fill(text, thread, run string) string {
	checkpoint := "1f1e5690-23fd-62e0-8000-eec7097ae7f1"
	if run != "" {
		checkpoint = "1f1e5690-23fd-62e0-8000-" + run[len(run)-12:]
	}
	return strings.NewReplacer("{{thread}}", thread, "{{run}}", run, "{{checkpoint}}", checkpoint).Replace(text)
}

func jsonBody(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, body)
}
