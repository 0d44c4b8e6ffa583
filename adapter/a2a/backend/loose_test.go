package backend_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/a2a/backend"
	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
)

// event is a StreamResponse of an agent.
type event = map[string]any

// loose is an agent whose streams are rewritten before they are sent.
type loose struct {
	*adaptertest.A2AAgent
	rewrite func([]event) []event
}

func (l loose) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	whole := httptest.NewRecorder()
	l.A2AAgent.ServeHTTP(whole, r)
	maps.Copy(w.Header(), whole.Header())
	if !strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream") {
		w.WriteHeader(whole.Code)
		_, _ = w.Write(whole.Body.Bytes())
		return
	}
	var events []event
	for line := range bytes.Lines(whole.Body.Bytes()) {
		var frame struct{ Result event }
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok && json.Unmarshal(data, &frame) == nil {
			events = append(events, frame.Result)
		}
	}
	for _, ev := range l.rewrite(events) {
		raw, _ := json.Marshal(event{"jsonrpc": "2.0", "id": "1", "result": ev})
		_, _ = w.Write([]byte("data: " + string(raw) + "\n\n"))
	}
}

// each returns a function that changes every event.
func each(change func(event)) func([]event) []event {
	return func(events []event) []event {
		for _, ev := range events {
			change(ev)
		}
		return events
	}
}

// within returns the member of an event with this name, or an empty object.
func within(ev event, names ...string) event {
	for _, name := range names {
		ev, _ = ev[name].(event)
		if ev == nil {
			return event{}
		}
	}
	return ev
}

func status(state string, more event) event {
	s := event{"state": "TASK_STATE_" + state}
	maps.Copy(s, more)
	return event{"statusUpdate": event{"taskId": "task-1", "contextId": "context-of-task-1", "status": s}}
}

// TestLooseStreams checks that an agent's streams are understood although they break rules of S 3.1.2 and 5.7: each
// artifact is a step, once, and the message is not sent again.
func TestLooseStreams(t *testing.T) {
	t.Parallel()
	for name, rewrite := range map[string]func([]event) []event{
		// a2a-python PR 964, 970
		"the first event is no task":     func(events []event) []event { return events[1:] },
		"the first event is an artifact": func(events []event) []event { return events[2:] },
		"the task is only in the first event": each(func(ev event) {
			delete(within(ev, "artifactUpdate"), "taskId")
			delete(within(ev, "statusUpdate"), "taskId")
		}),
		"the first event is the user's message": func(events []event) []event { // adk-python#3207
			return append([]event{{"message": event{"messageId": "m", "role": "ROLE_USER", "parts": []any{event{"text": "say"}}}}}, events...)
		},
		// a2a-python#501
		"a task after each artifact": tasksAfterArtifacts,
		// kubernaut#1297
		"empty contexts": each(func(ev event) { within(ev, "task")["contextId"] = ""; within(ev, "statusUpdate")["contextId"] = "" }),
		"no contexts": each(func(ev event) {
			delete(within(ev, "task"), "contextId")
			delete(within(ev, "statusUpdate"), "contextId")
		}),
		"status messages without parts": each(func(ev event) {
			within(ev, "statusUpdate", "status")["message"] = event{"messageId": "m", "role": "ROLE_AGENT"}
		}), // adk-python#3769
		"status messages with empty parts": each(func(ev event) { within(ev, "statusUpdate", "status")["message"] = event{"parts": []any{event{}}} }),
		"several terminal events":          func(events []event) []event { return append(events, status("FAILED", nil), status("COMPLETED", nil)) },
		"events after the end":             func(events []event) []event { return append(events, status("WORKING", nil), events[2]) },
		"no closing state":                 func(events []event) []event { return events[:len(events)-1] }, // a2a-rs#186
		"events of another task": func(events []event) []event { // a shared queue
			others := status("COMPLETED", nil)
			within(others, "statusUpdate")["taskId"] = "task-2"
			return slices.Insert(events, 2, others, event{"message": event{"messageId": "m", "taskId": "task-2", "role": "ROLE_AGENT", "parts": []any{event{"text": "of another"}}}})
		},
		"the id of the task comes late": func(events []event) []event {
			delete(within(events[1], "statusUpdate"), "taskId")
			return slices.Concat(events[1:2], events[2:len(events)-1])
		},
		"times with an offset":          each(func(ev event) { within(ev, "statusUpdate", "status")["timestamp"] = "2026-11-28T10:30:00+00:00" }),
		"flat events of 0.3 with final": flatEvents, // LangGraph's /a2a
		"snake_case":                    snakeCase,  // A2A#2087
		"unknown members, and unknown events": func(events []event) []event {
			return append([]event{{"progressUpdate": event{"percent": 5}}}, each(func(ev event) { ev["generation"] = 7; within(ev, "task")["timeline"] = []any{} })(events)...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := loose{&adaptertest.A2AAgent{}, rewrite}
			tr := adaptertest.Collect(t.Context(), dial(t, a), saying("say"), 0)
			if got := texts(tr); !slices.Equal(got, []string{"first", "second", "third"}) {
				t.Errorf("steps %q, %v", got, tr.Err)
			}
			if end := tr.End(); end == nil || end.Status != mapping.RunSuccess || a.Work() != 1 {
				t.Errorf("end %+v, %v, %d messages", end, tr.Err, a.Work())
			}
		})
	}
}

// tasksAfterArtifacts adds a task with everything so far after each artifact.
func tasksAfterArtifacts(events []event) (list []event) {
	var artifacts []any
	for _, ev := range events {
		list = append(list, ev)
		u := within(ev, "artifactUpdate")
		a := within(u, "artifact")
		switch {
		case len(a) == 0:
			continue
		case u["append"] == true:
			last := artifacts[len(artifacts)-1].(event)
			artifacts[len(artifacts)-1] = event{"artifactId": a["artifactId"], "parts": append(last["parts"].([]any), a["parts"].([]any)...)}
		default:
			artifacts = append(artifacts, a)
		}
		if u["lastChunk"] == true {
			list = append(list, event{"task": event{"id": "task-1", "contextId": "context-of-task-1", "status": event{"state": "TASK_STATE_WORKING"}, "artifacts": slices.Clone(artifacts)}})
		}
	}
	return list
}

// flatEvents returns events as LangGraph's own endpoint sends them: objects of 0.3 in a stream of 1.0.
func flatEvents(events []event) (list []event) {
	for name, kind := range map[string]string{"task": "task", "statusUpdate": "status-update", "artifactUpdate": "artifact-update"} {
		for i, ev := range events {
			if inner, ok := ev[name].(event); ok {
				inner["kind"] = kind
				if name == "statusUpdate" {
					inner["final"] = i == len(events)-1
				}
				events[i] = inner
			}
		}
	}
	return events
}

func snakeCase(events []event) []event {
	raw, _ := json.Marshal(events)
	for _, name := range []string{"statusUpdate", "artifactUpdate", "taskId", "contextId", "artifactId", "lastChunk", "messageId"} {
		at := strings.IndexFunc(name, func(r rune) bool { return r >= 'A' && r <= 'Z' })
		raw = bytes.ReplaceAll(raw, []byte(`"`+name+`"`), []byte(`"`+name[:at]+"_"+strings.ToLower(name[at:])+`"`))
	}
	var renamed []event
	_ = json.Unmarshal(raw, &renamed)
	return renamed
}

// TestInterfacesBelowAPath checks that a card is found below the URL of an agent, at either of its paths, and that the
// agent is called at the path of its interface, whatever host the card names (agentgateway#2981, #3018).
func TestInterfacesBelowAPath(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"/.well-known/agent-card.json", "/.well-known/agent.json"} {
		for at, rest := range map[string]bool{"/agents/poet": false, "/agents/poet/rest/": true, "/elsewhere": false} {
			a := below{&adaptertest.A2AAgent{HTTP: rest}, "/agents/poet" + where, at}
			b, err := backend.Dial(adaptertest.Upstream(adaptertest.Serve(t, a).URL + "/agents/poet/"))
			if err != nil {
				t.Fatal(err)
			}
			tr := adaptertest.Collect(t.Context(), b, saying("say"), 0)
			if got := texts(tr); tr.Err != nil || len(got) != 3 {
				t.Errorf("card at %s, interface at %s: %q, %v", where, at, got, tr.Err)
			}
		}
	}
}

// below is an agent whose card and interface have other paths.
type below struct {
	*adaptertest.A2AAgent
	card, path string
}

func (b below) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/.well-known/") {
		if r.URL.Path != b.card {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		whole := httptest.NewRecorder()
		r.URL.Path = "/.well-known/agent-card.json"
		b.A2AAgent.ServeHTTP(whole, r)
		_, _ = w.Write(bytes.ReplaceAll(whole.Body.Bytes(), []byte("http://inner.invalid:1/"), []byte("http://inner.invalid:1"+b.path)))
		return
	}
	http.StripPrefix(strings.TrimSuffix(b.path, "/"), b.A2AAgent).ServeHTTP(w, r)
}
