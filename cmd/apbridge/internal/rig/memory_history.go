package rig

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
)

// HistoryRoute is an agent's route for a thread's older checkpoints.
const HistoryRoute = "POST /threads/{t}/history"

// history answers with the checkpoint of the run and step in the filter, during the run or at its end. Without both it
// lists none.
func (g *MemoryGraph) history(w http.ResponseWriter, thread string, body []byte) {
	var ask struct {
		Metadata struct {
			Run  string `json:"run_id"`
			Step *int
		}
	}
	_ = json.Unmarshal(body, &ask)
	list := "[]"
	if run, ok := g.begun(thread, ask.Metadata.Run); ok && ask.Metadata.Step != nil && run.has(*ask.Metadata.Step) {
		list = "[" + strings.ReplaceAll(g.pointOf(thread, ask.Metadata.Run, run, *ask.Metadata.Step), "{{thread}}", thread) + "]"
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, list)
}

// has reports whether the run created a checkpoint after said words.
func (b runBeginning) has(said int) bool { return b.Said <= said && said <= len(memoryWords) }

// begun returns the start of a run by the graph's own id.
func (g *MemoryGraph) begun(thread, id string) (runBeginning, bool) {
	rec := httptest.NewRecorder()
	g.ThreadAgent.ServeHTTP(rec, httptest.NewRequest("GET", "/threads/"+thread+"/runs", nil))
	var list []struct {
		ID       string `json:"run_id"`
		Metadata struct {
			Ours string `json:"apbridge_run_id"`
		}
	}
	_ = json.Unmarshal(rec.Body.Bytes(), &list)
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, run := range list {
		if run.ID == id {
			return g.runs[run.Metadata.Ours], true
		}
	}
	return runBeginning{}, false
}

// pointOf returns a checkpoint for history, at which a run may start from now on.
func (g *MemoryGraph) pointOf(thread, id string, run runBeginning, said int) string {
	name, values := fmt.Sprintf("%s@%d", id, said), run.values(said, id)
	var at struct{ Messages []Utterance }
	_ = json.Unmarshal([]byte(values), &at)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.heads[thread+name], g.said[thread+name] = at.Messages, said
	return stateAt(values, id, name, said)
}
