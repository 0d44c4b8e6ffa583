package backend

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// TestSuperstepsAreSentAsTheyCame checks that a command replaces values and that a list of values remains one update.
func TestSuperstepsAreSentAsTheyCame(t *testing.T) {
	t.Parallel()
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	got, err := json.Marshal(superstepsWire([]adapter.Superstep{
		{Updates: []adapter.StateUpdate{{Values: raw(`{"a":1}`), AsNode: "n"}, {Values: raw(`{"a":1}`), Then: []json.RawMessage{raw(`{"b":2}`)}}}},
		{Updates: []adapter.StateUpdate{{Values: raw(`{"c":3}`), Command: raw(`{"update":{"c":3},"goto":"m"}`)}}},
	}))
	want := `[{"updates":[{"values":{"a":1},"as_node":"n"},{"values":[{"a":1},{"b":2}]}]},{"updates":[{"command":{"update":{"c":3},"goto":"m"}}]}]`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}

// TestStatesThatTheGraphMakesKeepItsMetadata checks that the metadata of a state that was read has the bridge's ids
// instead of the agent's.
func TestStatesThatTheGraphMakesKeepItsMetadata(t *testing.T) {
	t.Parallel()
	o := copyOf{thread: pair{"up", "t"}, graph: pair{"theirs", "ours"}}
	got := o.read(stateWire{Metadata: []byte(`{"source":"input","step":-1,"graph_id":"theirs","thread_id":"up","run_id":"r","checkpoint_id":"c","checkpoint_map":null,"api_key":"k"}`)})
	if want := `{"source":"input","step":-1,"graph_id":"ours","thread_id":"t"}`; !rawjson.Equal(got.Metadata, []byte(want)) || got.Source != "input" || got.Step != -1 {
		t.Errorf("got %+v, want metadata %s", got, want)
	}
}

// TestUpdateAtAnAmbiguousCheckpoint checks that no update is sent if a run and a step do not identify exactly one
// checkpoint.
func TestUpdateAtAnAmbiguousCheckpoint(t *testing.T) {
	t.Parallel()
	const one = `{"values":{},"next":[],"tasks":[],"created_at":"2026-11-28T17:45:26.129Z","metadata":{"run_id":"r","step":2},"checkpoint":{"checkpoint_id":"x"}}`
	const other = `{"values":{},"next":[],"tasks":[],"created_at":"2026-11-28T17:45:27.129Z","metadata":{"run_id":"r","step":2},"checkpoint":{"checkpoint_id":"y"}}`
	const update = `{"values":{},"next":[],"tasks":[],"created_at":"2026-11-28T17:45:27.129Z","metadata":{"source":"update","step":2},"checkpoint":{"checkpoint_id":"z"}}`
	for name, c := range map[string]struct {
		states string
		sent   int
		code   string
	}{
		"one":                                 {`[` + one + `]`, 1, ""},
		"none":                                {`[]`, 0, mapping.CodeUpstreamLost},
		"several":                             {`[` + one + `,` + other + `]`, 0, mapping.CodeUpstreamLost},
		"one among as many as were requested": {`[` + one + strings.Repeat(`,`+update, mostOfAStep-1) + `]`, 0, mapping.CodeUpstreamLost},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sent := make(chan string, 2)
			routes := http.NewServeMux()
			routes.HandleFunc("POST /threads/up/history", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, c.states) })
			routes.HandleFunc("GET /threads/up/state", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, other) })
			routes.HandleFunc("POST /threads/up/state", func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				sent <- string(body)
				_, _ = io.WriteString(w, `{}`)
			})
			srv := httptest.NewServer(routes)
			t.Cleanup(srv.Close)
			b, err := newBackend(adaptertest.Upstream(srv.URL))
			if err != nil {
				t.Fatal(err)
			}
			_, err = b.UpdateState(within(t), adapter.Copy{Link: mapping.Link{Remote: "up"}}, &adapter.Fork{Run: "r", Step: 2}, json.RawMessage(`{"n":1}`), "n")
			if c.code != "" && mapping.Classify(err).Code != c.code || c.code == "" && err != nil {
				t.Errorf("got %v, want %q", err, c.code)
			}
			if len(sent) != c.sent {
				t.Errorf("%d updates were sent, want %d", len(sent), c.sent)
			}
			if c.sent == 1 {
				if got, want := <-sent, `{"values":{"n":1},"as_node":"n","checkpoint":{"checkpoint_id":"x","checkpoint_ns":""}}`; got != want {
					t.Errorf("sent %s, want %s", got, want)
				}
			}
		})
	}
}

// TestAFailedThreadIsDeletedAtTheServer checks that a thread whose states the server refuses or cannot return is deleted
// there, and that a failure to delete it is logged.
func TestAFailedThreadIsDeletedAtTheServer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ status, logged int }{"it is deleted": {204, 0}, "it stays": {500, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			deleted := make(chan string, 3)
			routes := http.NewServeMux()
			routes.HandleFunc("POST /assistants/search", func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, `[{"assistant_id":"a","graph_id":"chat"}]`)
			})
			routes.HandleFunc("POST /threads", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
			routes.HandleFunc("DELETE /threads/{t}", func(w http.ResponseWriter, r *http.Request) {
				deleted <- r.PathValue("t")
				w.WriteHeader(c.status)
			})
			srv := httptest.NewServer(routes)
			t.Cleanup(srv.Close)
			up := adaptertest.Upstream(srv.URL)
			seen, logs := observer.New(zap.InfoLevel)
			up.Log = zap.New(seen)
			b, err := newBackend(up)
			if err != nil {
				t.Fatal(err)
			}
			one := []adapter.Superstep{{Updates: []adapter.StateUpdate{{Values: json.RawMessage(`{"n":1}`), AsNode: "n"}}}}
			if _, _, err := b.MakeStates(within(t), adapter.Copy{ThreadID: "t"}, one); mapping.Classify(err).Code != mapping.CodeUpstreamError {
				t.Errorf("got %v, want %s", err, mapping.CodeUpstreamError)
			}
			if got := logs.FilterMessage("agent's copy of no thread could not be deleted").Len(); got != c.logged || len(deleted) != 1 {
				t.Errorf("%d requests to delete the thread and %d log lines, want 1 and %d", len(deleted), got, c.logged)
			}
		})
	}
}
