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

// MemoryGraph is a graph with a memory. A run outputs one, two, three after the messages in its thread or at the
// checkpoint at which it starts. Without input, it outputs the rest. Messages are merged by id, as by add_messages.
type MemoryGraph struct {
	*adaptertest.ThreadAgent
	mu    sync.Mutex
	heads map[string][]Utterance  // thread and checkpoint → messages
	said  map[string]int          // thread and checkpoint → words said there, during a run
	runs  map[string]runBeginning // by the bridge's id of the run
}

// runBeginning is the start of a run: messages, and the number of its words that were said.
type runBeginning struct {
	Base, Given []Utterance
	Said        int
}

// Utterance is a message.
type Utterance struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Role    string `json:"role,omitempty"`
	Content string `json:"content"`
}

// NewMemoryGraph returns a graph without threads.
func NewMemoryGraph() *MemoryGraph {
	g := &MemoryGraph{heads: map[string][]Utterance{}, said: map[string]int{}, runs: map[string]runBeginning{}}
	g.ThreadAgent = &adaptertest.ThreadAgent{Choose: func(body []byte) adaptertest.ThreadPlay {
		var run runBeginning
		_ = json.Unmarshal(body, &run)
		return run.play()
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
		case "history":
			if g.Canned[HistoryRoute] == nil {
				g.mu.Unlock()
				g.history(w, thread, body)
				return
			}
		}
	}
	g.mu.Unlock()
	r.Body = io.NopCloser(bytes.NewReader(body))
	g.ThreadAgent.ServeHTTP(w, r)
}

// started adds the start of a run and its input to a request.
func (g *MemoryGraph) started(thread string, body []byte) []byte {
	request, input := map[string]any{}, struct {
		Input    struct{ Messages []Utterance }
		Metadata struct {
			Run string `json:"apbridge_run_id"`
		}
	}{}
	_, _ = json.Unmarshal(body, &request), json.Unmarshal(body, &input)
	run := runBeginning{Base: g.head(thread), Given: input.Input.Messages}
	if from, ok := request["checkpoint_id"].(string); ok {
		run.Base = g.heads[thread+from]
		if run.Given == nil {
			run.Said = g.said[thread+from]
		}
	}
	g.runs[input.Metadata.Run] = run
	request["base"], request["given"], request["said"] = run.Base, run.Given, run.Said
	body, _ = json.Marshal(request)
	return body
}

// updated merges a state update into the state.
func (g *MemoryGraph) updated(thread string, body []byte) []byte {
	var update struct {
		Values struct{ Messages []Utterance }
	}
	_ = json.Unmarshal(body, &update)
	body, _ = json.Marshal(map[string]any{"values": map[string]any{"messages": joined(g.head(thread), update.Values.Messages)}})
	return body
}

// head returns a thread's messages, and stores them by their checkpoint, because a fork starts from a former head.
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

// joined appends messages and replaces those with the same id. A message without an id gets one.
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

var memoryWords = [...]string{"one", "two", "three"}

// next returns the word after said words.
func next(said int) string {
	if said == len(memoryWords) {
		return `[]`
	}
	return `["` + memoryWords[said] + `"]`
}

// play returns the behaviour of a run.
func (b runBeginning) play() adaptertest.ThreadPlay {
	play := adaptertest.ThreadPlay{Frames: []string{
		`metadata {"run_id":"{{run}}","attempt":1}`, "values " + b.values(b.Said, "{{run}}"), point(b.values(b.Said, "{{run}}"), b.Said, next(b.Said)),
	}}
	for i, word := range memoryWords[b.Said:] {
		said := b.Said + i + 1
		values := b.values(said, "{{run}}")
		play.Frames = append(play.Frames, `updates {"`+word+`":`+valuesOf(utter(word, "{{run}}"))+`}`, "values "+values, point(values, said, next(said)))
	}
	play.State = stateAt(b.values(len(memoryWords), "{{run}}"), "{{run}}", "{{checkpoint}}", len(memoryWords))
	return play
}

// values returns the state after said words of the run.
func (b runBeginning) values(said int, run string) string {
	at := joined(b.Base, b.Given)
	for _, word := range memoryWords[b.Said:said] {
		at = append(at, utter(word, run))
	}
	return valuesOf(at...)
}

func utter(word, run string) Utterance {
	return Utterance{ID: word + " of " + run, Type: "ai", Content: word}
}

func valuesOf(list ...Utterance) string {
	text, _ := json.Marshal(map[string]any{"messages": list})
	return string(text)
}

func stateAt(values, run, checkpoint string, said int) string {
	return fmt.Sprintf(`{"values":%s,"next":%s,"tasks":[],"metadata":{"graph_id":"agent","thread_id":"{{thread}}","run_id":"%s","source":"loop","step":%d,"parents":{}},`+
		`"created_at":"2026-11-21T05:04:19.726Z","checkpoint":{"thread_id":"{{thread}}","checkpoint_id":"%s","checkpoint_ns":"","checkpoint_map":null},"parent_checkpoint":null}`,
		values, next(said), run, said, checkpoint)
}

func point(values string, step int, next string) string {
	return fmt.Sprintf(`checkpoints {"values":%s,"metadata":{"source":"loop","step":%d,"parents":{}},"next":%s}`, values, step, next)
}
