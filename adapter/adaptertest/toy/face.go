package toy

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/gorilla/mux"
)

// face serves clients. It keeps no state.
type face struct {
	svc adapter.Service
	adapter.Face
}

func mount(r *mux.Router, svc adapter.Service, f adapter.Face) {
	s := &face{svc, f}
	r.Path("/toy").Methods("GET").Handler(adapter.Anybody(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "toy") })))
	r.Path("/toy/say").Methods("POST").Handler(adapter.Operation{Handler: http.HandlerFunc(s.say), Needs: []string{mapping.RightRun}})
	r.Path("/toys/{agent}/card").Methods("GET").Handler(adapter.Anybody(http.HandlerFunc(s.card)))
	r.Path("/toys/{agent}/say").Methods("POST").Handler(adapter.Operation{Handler: http.HandlerFunc(s.say), Needs: []string{mapping.RightRun}})
	r.NewRoute().HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, mapping.Errorf(mapping.NotFound, mapping.CodeRouteNotFound, "The toy serves /toy, /toy/say, /toys/{agent}/card and /toys/{agent}/say."))
	})
}

// card also serves callers without a key, so it only uses the configuration.
func (s *face) card(w http.ResponseWriter, r *http.Request) {
	name := mux.Vars(r)["agent"]
	if _, ok := s.Agents[name]; !ok {
		refuse(w, mapping.Errorf(mapping.NotFound, mapping.CodeAgentNotFound, "There is no toy of that name."))
		return
	}
	fmt.Fprintln(w, name)
}

// effect returns the effect of a route for the audit log. A route that cancels runs would return mapping.Cancelled and
// would be accepted even when memory is short.
func effect(method, template string) (adapter.Effect, bool) {
	switch method + " " + template {
	case "GET /toy", "GET /toys/{agent}/card":
		return adapter.Effect{Verb: mapping.Read, Kind: "bridge"}, true
	case "POST /toy/say", "POST /toys/{agent}/say":
		return adapter.Effect{Verb: mapping.Changed, Kind: "thread"}, true
	}
	return adapter.Effect{}, false
}

// say starts a run with the words and responds with its steps.
func (s *face) say(w http.ResponseWriter, r *http.Request) {
	for _, name := range []string{talkHeader, onceHeader, taskHeader} {
		if !mapping.IsText(r.Header.Get(name)) {
			refuse(w, mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "%s must be UTF-8.", name))
			return
		}
	}
	words, err := io.ReadAll(r.Body) // the guards enforce its limits
	if err != nil {
		refuse(w, mapping.Classify(err))
		return
	}
	started, err := s.svc.StartRun(r.Context(), new(newRun(mux.Vars(r)["agent"], r.Header, string(words))))
	if err != nil {
		refuse(w, mapping.Classify(err))
		return
	}
	w.Header().Set(talkHeader, started.Run.ThreadID)
	w.Header().Set(taskHeader, started.Run.TaskID)
	if losses := mapping.LossHeader(started.Losses); losses != "" {
		w.Header().Set("X-Apbridge-Unsupported", losses)
	}
	ref := adapter.TaskRef{Agent: started.Run.Agent, ID: started.Run.TaskID, Flavour: flavour}
	for step, err := range s.svc.FollowSteps(r.Context(), ref, 0) {
		if err != nil {
			line(w, "! ", mapping.Classify(err).Message)
			return
		}
		if fault := rawjson.Get(step.AdditionalOutput, "error"); fault != nil {
			line(w, "! ", string(fault))
			return
		}
		if step.Output != nil {
			line(w, "- ", *step.Output)
		}
	}
	if run, err := s.svc.GetRun(r.Context(), adapter.RunRef{RunID: started.Run.ID}); err == nil && run.Status == mapping.RunInterrupted {
		fmt.Fprintln(w, "?")
		return
	}
	fmt.Fprintln(w, ".")
}

// newRun returns the request for a run of an agent, or of the default agent if none is named.
func newRun(agent string, h http.Header, words string) adapter.RunRequest {
	input, _ := json.Marshal(map[string]any{"messages": []map[string]string{{"role": "user", "content": words}}})
	return adapter.RunRequest{
		ThreadID: h.Get(talkHeader), TaskID: h.Get(taskHeader), Agent: agent, IfNotExists: "create", Flavour: flavour, Fields: []string{"words"},
		Input: input, Kwargs: rule.RequestOf(input), HasInput: true, InputAnswers: h.Get(taskHeader) != "", IdempotencyKey: h.Get(onceHeader), Webhook: h.Get(hookHeader),
	}
}

// line writes and flushes a line.
func line(w http.ResponseWriter, mark, text string) {
	quoted, _ := json.Marshal(text)
	fmt.Fprintf(w, "%s%s\n", mark, quoted)
	_ = http.NewResponseController(w).Flush() // the client may have disconnected
}

func refuse(w http.ResponseWriter, e *mapping.Error) {
	w.WriteHeader(adapter.Status(e.Class))
	line(w, "! ", e.Message)
}
