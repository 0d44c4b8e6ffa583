package backend

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
)

// TestGraphOfAServerThatListsNone checks that the configured graph is used if the server has threads.
func TestGraphOfAServerThatListsNone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		assistant string
		search    int // the status of a search for threads
		code      string
	}{
		"a graph is configured":      {"chat", http.StatusOK, ""},
		"threads cannot be searched": {"chat", http.StatusUnprocessableEntity, ""},
		"none is configured":         {"", http.StatusOK, mapping.CodeUpstreamError},
		"the server has no threads":  {"chat", http.StatusNotFound, mapping.CodeBadUpstream},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			routes := http.NewServeMux()
			routes.HandleFunc("POST /threads/search", func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.search)
				_, _ = io.WriteString(w, "[]")
			})
			srv := httptest.NewServer(routes)
			t.Cleanup(srv.Close)
			up := adaptertest.Upstream(srv.URL)
			up.Config.Assistant = c.assistant
			b, err := newBackend(up)
			if err != nil {
				t.Fatal(err)
			}
			got, err := b.graphs.target(within(t))
			if c.code != "" {
				if mapping.Classify(err).Code != c.code {
					t.Errorf("got %+v, %v; want %s", got, err, c.code)
				}
				return
			}
			if want := (target{id: "chat", graph: "chat", bare: true}); err != nil || got != want {
				t.Errorf("got %+v, %v; want %+v", got, err, want)
			}
		})
	}
}

// TestStatesThatNameNoRun checks that states are found by their step if the server does not name their runs.
func TestStatesThatNameNoRun(t *testing.T) {
	t.Parallel()
	at := adapter.Fork{Run: "r", Step: 1}
	for name, c := range map[string]struct {
		metadata string
		want     bool
	}{
		"no run is named":    {`{"source":"loop","step":1}`, true},
		"another step":       {`{"source":"loop","step":2}`, false},
		"another run":        {`{"source":"loop","step":1,"run_id":"x"}`, false},
		"an update names no": {`{"source":"update","step":1}`, false},
	} {
		state := json.RawMessage(`{"values":{},"created_at":"2026-11-28T17:45:26.129Z","checkpoint":{"checkpoint_id":"c"},"metadata":` + c.metadata + `}`)
		if got := isAt(state, at); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestStartOfARunThatNamesNoRun checks that the checkpoint from which a run starts does not count as a new one.
func TestStartOfARunThatNamesNoRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		input, values string
		bare          bool
		before        int // checkpoints that the run has created
		want          bool
	}{
		"the first of a run without input": {"", `{"n":1}`, true, 0, true},
		"the input is null":                {"null", `{"n":1}`, true, 0, true},
		"a run with input":                 {`{"n":1}`, `{"n":1}`, true, 0, false},
		"another state":                    {"", `{"n":2}`, true, 0, false},
		"a later checkpoint":               {"", `{"n":1}`, true, 1, false},
		"a server that names runs":         {"", `{"n":1}`, false, 0, false},
	} {
		start, err := state.NewFold(json.RawMessage(`{"n":1}`))
		if err != nil {
			t.Fatal(err)
		}
		task := adapter.Assignment{State: start, Input: rule.Input{Raw: json.RawMessage(c.input)}}
		tr := &translator{job: &job{t: &task, target: target{bare: c.bare}}}
		tr.told.checkpoints = c.before
		got := tr.repeats(checkpointWire{Values: json.RawMessage(c.values), Next: []string{"a"}}, checkpointMeta{Source: "loop", Step: 1})
		if got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
