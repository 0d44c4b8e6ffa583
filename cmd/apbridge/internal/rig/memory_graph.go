package rig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/apbridge/apbridge/adapter/adaptertest"
)

// MemoryGraph is a graph with a memory: a run says one, two, three after what
// stands in its thread, or at the checkpoint it starts from. Messages are joined by
// id, as add_messages does.
type MemoryGraph struct {
	*adaptertest.ThreadAgent
	mu    sync.Mutex
	heads map[string][]Utterance // thread and checkpoint → messages
}

// Utterance is a message.
type Utterance struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Role    string `json:"role,omitempty"`
	Content string `json:"content"`
}

// NewMemoryGraph is a graph without threads.
func NewMemoryGraph() *MemoryGraph {
	g := &MemoryGraph{heads: map[string][]Utterance{}}
	g.ThreadAgent = &adaptertest.ThreadAgent{Choose: func(body []byte) adaptertest.ThreadPlay {
		var run struct{ Base, Given []Utterance }
		_ = json.Unmarshal(body, &run)
		return sayThree(run.Base, run.Given)
	}}
	return g
}

func (g *MemoryGraph) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	thread, route, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/threads/"), "/")
	body, _ := io.ReadAll(r.Body)
	g.mu.Lock()
	if r.Method == http.MethodPost {
		switch route {
		case "runs/stream":
			body = g.started(thread, body)
		case "state":
			body = g.updated(thread, body)
		}
	}
	g.mu.Unlock()
	r.Body = io.NopCloser(bytes.NewReader(body))
	g.ThreadAgent.ServeHTTP(w, r)
}

// started adds to a request for a run where it starts and what it is given.
func (g *MemoryGraph) started(thread string, body []byte) []byte {
	request, input := map[string]any{}, struct {
		Input struct{ Messages []Utterance }
	}{}
	_, _ = json.Unmarshal(body, &request), json.Unmarshal(body, &input)
	base := g.head(thread)
	if from, ok := request["checkpoint_id"].(string); ok {
		base = g.heads[thread+from]
	}
	request["base"], request["given"] = base, input.Input.Messages
	body, _ = json.Marshal(request)
	return body
}

// updated joins a state update to the state.
func (g *MemoryGraph) updated(thread string, body []byte) []byte {
	var update struct {
		Values struct{ Messages []Utterance }
	}
	_ = json.Unmarshal(body, &update)
	body, _ = json.Marshal(map[string]any{"values": map[string]any{"messages": joined(g.head(thread), update.Values.Messages)}})
	return body
}

// head reads a thread's messages, and notes them by their checkpoint: a fork starts
// from a checkpoint that was at the head.
func (g *MemoryGraph) head(thread string) []Utterance {
	rec := httptest.NewRecorder()
	g.ThreadAgent.ServeHTTP(rec, httptest.NewRequest("GET", "/threads/"+thread+"/state", nil))
	var state struct {
		Values     struct{ Messages []Utterance }
		Checkpoint struct {
			ID string `json:"checkpoint_id"`
		}
	}
	_ = json.Unmarshal(rec.Body.Bytes(), &state)
	g.heads[thread+state.Checkpoint.ID] = state.Values.Messages
	return state.Values.Messages
}

// joined appends messages, replacing those with the same id; what has none gets one.
func joined(list, more []Utterance) []Utterance {
	list = append([]Utterance{}, list...)
next:
	for _, m := range more {
		if m.Role != "" {
			m.Type, m.Role = "human", ""
		}
		if m.ID == "" {
			m.ID = "of " + m.Content
		}
		for i := range list {
			if list[i].ID == m.ID {
				list[i] = m
				continue next
			}
		}
		list = append(list, m)
	}
	return list
}

// sayThree is what a run does.
func sayThree(base, given []Utterance) adaptertest.ThreadPlay {
	text := func(v any) string { b, _ := json.Marshal(v); return string(b) }
	values := func(list []Utterance) string { return text(map[string]any{"messages": list}) }
	at := joined(base, given)
	play := adaptertest.ThreadPlay{Frames: []string{
		`metadata {"run_id":"{{run}}","attempt":1}`, "values " + values(at), point(values(at), 0, `["one"]`),
	}}
	next := map[string]string{"one": `["two"]`, "two": `["three"]`, "three": `[]`}
	for i, word := range []string{"one", "two", "three"} {
		m := Utterance{ID: word + " of {{run}}", Type: "ai", Content: word}
		at = joined(at, []Utterance{m})
		play.Frames = append(play.Frames, `updates {"`+word+`":`+values([]Utterance{m})+`}`, "values "+values(at), point(values(at), i+1, next[word]))
	}
	play.State = `{"values":` + values(at) + `,"next":[],"tasks":[],"metadata":{"graph_id":"agent","thread_id":"{{thread}}","run_id":"{{run}}","source":"loop","step":3,"parents":{}},` +
		`"created_at":"2026-11-21T05:04:19.726Z","checkpoint":{"thread_id":"{{thread}}","checkpoint_id":"{{checkpoint}}","checkpoint_ns":"","checkpoint_map":null},"parent_checkpoint":null}`
	return play
}

func point(values string, step int, next string) string {
	return fmt.Sprintf(`checkpoints {"values":%s,"metadata":{"source":"loop","step":%d,"parents":{}},"next":%s}`, values, step, next)
}
