package threadagent

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

type object = map[string]any

type errUnknown string

func (e errUnknown) Error() string { return "unknown " + string(e) }

// assistant is the only one: the graph "agent".
var assistant = object{
	"assistant_id": "fe096781-5601-53d2-b2f6-0d3403f7e9ca", "graph_id": "agent", "name": "agent",
	"description": "plan, then answer", "config": object{}, "context": object{}, "metadata": object{},
	"version": 1, "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
}

// server keeps the threads of one process. Its lock is held for a whole run:
// runs are instant.
type server struct {
	mu      sync.Mutex
	threads map[string]*thread
}

// Handler serves a new agent, with no threads yet.
func Handler() http.Handler {
	s, mux := &server{threads: map[string]*thread{}}, http.NewServeMux()
	mux.HandleFunc("GET /ok", fixed(object{"ok": true}))
	mux.HandleFunc("GET /info", fixed(object{"version": "0.1.0", "flags": object{"assistants": true, "crons": false, "langsmith": false}}))
	mux.HandleFunc("POST /assistants/search", fixed([]object{assistant}))
	mux.HandleFunc("GET /assistants/{id}", getAssistant)
	mux.HandleFunc("POST /threads", s.create)
	mux.HandleFunc("GET /threads/{thread}", s.ofThread(func(w http.ResponseWriter, _ *http.Request, t *thread) { reply(w, 200, t.view()) }))
	mux.HandleFunc("DELETE /threads/{thread}", s.ofThread(func(w http.ResponseWriter, _ *http.Request, t *thread) {
		delete(s.threads, t.ID)
		w.WriteHeader(204)
	}))
	mux.HandleFunc("GET /threads/{thread}/state", s.ofThread(getState))
	mux.HandleFunc("GET /threads/{thread}/state/{checkpoint}", s.ofThread(getState))
	mux.HandleFunc("POST /threads/{thread}/state", s.ofThread(updateState))
	mux.HandleFunc("POST /threads/{thread}/history", s.ofThread(history))
	mux.HandleFunc("GET /threads/{thread}/runs", s.ofThread(func(w http.ResponseWriter, _ *http.Request, t *thread) { reply(w, 200, t.Runs) }))
	mux.HandleFunc("GET /threads/{thread}/runs/{run}", s.ofThread(getRun))
	mux.HandleFunc("POST /threads/{thread}/runs/stream", s.ofThread(stream))
	mux.HandleFunc("POST /threads/{thread}/runs/wait", s.ofThread(wait))
	mux.HandleFunc("POST /runs/wait", func(w http.ResponseWriter, r *http.Request) { wait(w, r, newThread("", nil)) })
	return mux
}

func getAssistant(w http.ResponseWriter, r *http.Request) {
	if id := r.PathValue("id"); id != assistant["graph_id"] && id != assistant["assistant_id"] {
		refuse(w, 404, "no such assistant")
		return
	}
	reply(w, 200, assistant)
}

func (s *server) ofThread(h func(http.ResponseWriter, *http.Request, *thread)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if t := s.threads[r.PathValue("thread")]; t != nil {
			h(w, r, t)
			return
		}
		refuse(w, 404, "no such thread")
	}
}

func (s *server) create(w http.ResponseWriter, r *http.Request) {
	var body struct {
		ThreadID   string `json:"thread_id"`
		Metadata   object
		Supersteps []struct{ Updates []struct{ Values state } }
	}
	if !read(w, r, &body) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.threads[body.ThreadID] != nil {
		refuse(w, 409, "the thread exists")
		return
	}
	t := newThread(body.ThreadID, body.Metadata)
	for _, superstep := range body.Supersteps {
		for _, u := range superstep.Updates {
			t.save(checkpoint{Source: "update", State: t.head().State.merge(u.Values), Next: len(nodes)})
		}
	}
	s.threads[t.ID] = t
	reply(w, 200, t.view())
}

func newThread(id string, metadata object) *thread {
	if id == "" {
		id = newID()
	}
	if metadata == nil {
		metadata = object{}
	}
	return &thread{ID: id, Metadata: metadata, Created: time.Now().UTC(), Runs: []object{}}
}

// view is a thread as clients see it.
func (t *thread) view() object {
	status, interrupts := "idle", object{}
	if at := t.head(); at.Next < len(nodes) {
		status = "interrupted"
		if at.Ask != nil {
			interrupts[at.TaskID] = []*interrupt{at.Ask}
		}
	}
	return object{"thread_id": t.ID, "metadata": t.Metadata, "status": status, "values": t.head().State, "interrupts": interrupts,
		"config": object{}, "created_at": t.Created, "updated_at": t.Created}
}

// state is a checkpoint as GET state answers it.
func (t *thread) state(i int) object {
	c := t.Checkpoints[i]
	ref := func(id string) object {
		return object{"thread_id": t.ID, "checkpoint_ns": "", "checkpoint_id": id, "checkpoint_map": nil}
	}
	tasks := []object{}
	if c.Next < len(nodes) {
		asks := []*interrupt{}
		if c.Ask != nil {
			asks = append(asks, c.Ask)
		}
		name := nodes[c.Next].name
		tasks = append(tasks, object{"id": c.TaskID, "name": name, "error": nil, "interrupts": asks,
			"path": []string{"__pregel_pull", name}, "checkpoint": nil, "state": nil, "result": nil})
	}
	view := object{"values": c.State, "next": c.next(), "tasks": tasks, "metadata": c.metadata(), "created_at": c.At,
		"checkpoint": ref(c.ID), "parent_checkpoint": nil}
	if i > 0 {
		view["parent_checkpoint"] = ref(t.Checkpoints[i-1].ID)
	}
	return view
}

func getState(w http.ResponseWriter, r *http.Request, t *thread) {
	i := len(t.Checkpoints) - 1
	if id := r.PathValue("checkpoint"); id != "" {
		i = slices.IndexFunc(t.Checkpoints, func(c checkpoint) bool { return c.ID == id })
		if i < 0 {
			refuse(w, 404, "no such checkpoint")
			return
		}
	}
	if i < 0 {
		reply(w, 200, object{"values": object{}, "next": []string{}, "tasks": []object{}, "metadata": object{},
			"created_at": nil, "checkpoint": nil, "parent_checkpoint": nil})
		return
	}
	reply(w, 200, t.state(i))
}

func updateState(w http.ResponseWriter, r *http.Request, t *thread) {
	var body struct{ Values state }
	if !read(w, r, &body) {
		return
	}
	c := t.save(checkpoint{Source: "update", State: t.head().State.merge(body.Values), Next: len(nodes)})
	reply(w, 200, object{"checkpoint": object{"thread_id": t.ID, "checkpoint_ns": "", "checkpoint_id": c.ID}})
}

func history(w http.ResponseWriter, _ *http.Request, t *thread) {
	list := []object{}
	for i := range t.Checkpoints {
		list = append(list, t.state(len(t.Checkpoints)-1-i))
	}
	reply(w, 200, list)
}

func getRun(w http.ResponseWriter, r *http.Request, t *thread) {
	for _, run := range t.Runs {
		if run["run_id"] == r.PathValue("run") {
			reply(w, 200, run)
			return
		}
	}
	refuse(w, 404, "no such run")
}

// start notes a run and tells the client where it is.
func start(w http.ResponseWriter, t *thread, body *runRequest) {
	body.id = newID()
	if body.Metadata == nil {
		body.Metadata = object{}
	}
	t.Runs = append(t.Runs, object{"run_id": body.id, "thread_id": t.ID, "assistant_id": assistant["assistant_id"], "metadata": body.Metadata,
		"status": "success", "kwargs": object{}, "multitask_strategy": "reject", "created_at": time.Now().UTC(), "updated_at": time.Now().UTC()})
	w.Header().Set("Content-Location", "/threads/"+t.ID+"/runs/"+body.id)
}

func stream(w http.ResponseWriter, r *http.Request, t *thread) {
	var body runRequest
	if !read(w, r, &body) {
		return
	}
	start(w, t, &body)
	frames := 0
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(event string, data any) {
		text, _ := json.Marshal(data)
		fmt.Fprintf(w, "event: %s\ndata: %s\nid: %d\n\n", event, text, frames)
		w.(http.Flusher).Flush()
		frames++
	}
	send("metadata", object{"run_id": body.id, "attempt": 1})
	err := t.execute(body, func(mode string, data any) {
		if len(body.StreamMode) == 0 && mode != "values" || len(body.StreamMode) > 0 && !slices.Contains(body.StreamMode, mode) {
			return
		}
		if mode == "messages-tuple" {
			mode = "messages"
		}
		send(mode, data)
	})
	if err != nil {
		send("error", object{"error": "Error", "message": err.Error()})
	}
}

func wait(w http.ResponseWriter, r *http.Request, t *thread) {
	var body runRequest
	if !read(w, r, &body) {
		return
	}
	start(w, t, &body)
	var last any
	err := t.execute(body, func(mode string, data any) {
		if mode == "values" {
			last = data
		}
	})
	if err != nil {
		last = object{"__error__": object{"error": "Error", "message": err.Error()}}
	}
	reply(w, 200, last)
}

func fixed(answer any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, answer) }
}

// read decodes a body, which may be empty, or refuses it.
func read(w http.ResponseWriter, r *http.Request, into any) bool {
	if r.ContentLength == 0 {
		return true
	}
	if err := json.NewDecoder(r.Body).Decode(into); err != nil {
		refuse(w, 422, "the body cannot be read: "+err.Error())
		return false
	}
	return true
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}

func refuse(w http.ResponseWriter, status int, message string) {
	reply(w, status, object{"detail": message})
}

// newID makes a random UUID.
func newID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
