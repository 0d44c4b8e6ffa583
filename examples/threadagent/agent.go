// Package threadagent is a small agent in the style of a LangGraph server: runs on threads, sent as event streams, with
// the state of its threads in memory. It needs no model, and reports words as tokens. Its graph has two nodes: plan
// announces the answer, and answer writes a file. A request with the text "ask me" is interrupted before the answer.
//
// It has only the routes of a LangGraph server that a bridge needs.
package threadagent

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

type object = map[string]any

type message struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Content any    `json:"content"`
	Usage   any    `json:"usage_metadata,omitempty"`
}

type state struct {
	Messages []message `json:"messages"`
	Files    object    `json:"files,omitempty"`
	request  string    // newest message of the user
}

// merge is the reducer: messages by id, files by path.
func (s *state) merge(delta state) {
	for _, m := range delta.Messages {
		m.ID, m.Type = cmp.Or(m.ID, rand.Text()), cmp.Or(m.Type, "human")
		if m.Type == "human" {
			s.request = fmt.Sprint(m.Content)
		}
		if i := slices.IndexFunc(s.Messages, func(old message) bool { return old.ID == m.ID }); i >= 0 {
			s.Messages[i] = m
		} else {
			s.Messages = append(s.Messages, m)
		}
	}
	maps.Copy(s.Files, delta.Files)
}

// run runs a node. It returns the node's changes or its question.
func (s *state) run(node string, resume any) (delta state, question string) {
	text, ask := "The answer to "+s.request+".", strings.Contains(strings.ToLower(s.request), "ask me")
	switch {
	case node == "plan":
		text = fmt.Sprintf("I will answer %q with %d file(s) at hand.", s.request, len(s.Files))
	case ask && resume == nil:
		return state{}, "What shall the answer say?"
	case ask:
		text = fmt.Sprintf("The answer to %s: you told me %v.", s.request, resume)
	}
	if node == "answer" {
		delta.Files = object{"/answer.txt": object{"content": text + "\n", "encoding": "utf-8", "mimeType": "text/plain"}}
	}
	in, out := 0, len(strings.Fields(text))
	for _, m := range s.Messages {
		in += len(strings.Fields(fmt.Sprint(m.Content)))
	}
	used := object{"input_tokens": in, "output_tokens": out, "total_tokens": in + out}
	delta.Messages = []message{{ID: rand.Text(), Type: "ai", Content: text, Usage: used}}
	return delta, ""
}

// thread is the position in a conversation: the state and the remaining nodes.
type thread struct {
	state
	runID, checkpoint string // the newest ones
	step              int    // of the newest checkpoint; the first, which has only the input, is 0 as in LangGraph
	next              []string
	asks              []object
}

// stream runs the graph and calls tell for every frame, with its kind and its data.
func (t *thread) stream(input *state, resume any, tell func(kind string, data any)) {
	if input != nil {
		t.merge(*input)
		t.next = []string{"plan", "answer"}
	}
	t.told(tell)
	for t.asks = nil; len(t.next) > 0; t.told(tell) {
		node := t.next[0]
		delta, question := t.run(node, resume)
		if question != "" {
			t.asks = []object{{"id": rand.Text(), "value": object{"question": question}}}
			tell("updates", object{"__interrupt__": t.asks})
			return
		}
		t.merge(delta)
		t.next = t.next[1:]
		tell("messages", []any{delta.Messages[0], object{"langgraph_node": node}})
		tell("updates", object{node: delta})
	}
}

// told creates a checkpoint of the state and sends it.
func (t *thread) told(tell func(kind string, data any)) {
	t.checkpoint, t.step = rand.Text(), t.step+1
	tell("values", t.state)
	tell("checkpoints", t.view())
}

func (t *thread) view() object {
	tasks := []object{}
	if len(t.next) > 0 {
		tasks = append(tasks, object{"id": t.checkpoint, "name": t.next[0], "interrupts": t.asks})
	}
	return object{"values": t.state, "next": t.next, "tasks": tasks, "metadata": object{"run_id": t.runID, "step": t.step, "source": "loop"},
		"checkpoint": object{"checkpoint_id": t.checkpoint, "checkpoint_ns": ""}}
}

// Handler returns the handler of a new agent without threads. Runs take no time, so a single lock is enough.
func Handler() http.Handler {
	var mu sync.Mutex
	threads, mux := map[string]*thread{}, http.NewServeMux()
	open := func(id string) *thread {
		if threads[id] == nil {
			threads[id] = &thread{state: state{Messages: []message{}, Files: object{}}, next: []string{}, step: -1}
		}
		return threads[id]
	}
	mux.HandleFunc("GET /ok", func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, object{"ok": true}) })
	mux.HandleFunc("POST /assistants/search", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, 200, []object{{"assistant_id": "fe096781-5601-53d2-b2f6-0d3403f7e9ca", "graph_id": "agent", "name": "agent"}})
	})
	mux.HandleFunc("POST /threads", func(w http.ResponseWriter, _ *http.Request) {
		id := rand.Text()
		open(id)
		reply(w, 200, object{"thread_id": id})
	})
	mux.HandleFunc("GET /threads/{thread}/state", func(w http.ResponseWriter, r *http.Request) {
		if t := threads[r.PathValue("thread")]; t != nil {
			reply(w, 200, t.view())
		} else {
			reply(w, 404, object{"detail": "no such thread"})
		}
	})
	mux.HandleFunc("POST /threads/{thread}/runs/stream", func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Input   *state
			Command struct{ Resume any }
		}
		if json.NewDecoder(r.Body).Decode(&body) != nil {
			reply(w, 422, object{"detail": "the body is not a run"})
			return
		}
		t := open(r.PathValue("thread"))
		t.runID = rand.Text()
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Location", "/threads/"+r.PathValue("thread")+"/runs/"+t.runID)
		tell := func(kind string, data any) {
			text, _ := json.Marshal(data)
			fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, text)
		}
		tell("metadata", object{"run_id": t.runID, "attempt": 1})
		t.stream(body.Input, body.Command.Resume, tell)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		mux.ServeHTTP(w, r)
	})
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}
