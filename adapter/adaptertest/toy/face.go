package toy

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

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
	const hooks = "/toys/{agent}/hooks/{task}"
	r.Path(hooks).Methods("GET").Handler(adapter.Operation{Handler: http.HandlerFunc(s.hooks), Needs: []string{mapping.RightRead}})
	r.Path(hooks).Methods("POST").Handler(adapter.Operation{Handler: http.HandlerFunc(s.addHook), Needs: []string{mapping.RightRun}})
	r.Path(hooks + "/{hook}").Methods("DELETE").Handler(adapter.Operation{Handler: http.HandlerFunc(s.deleteHook), Needs: []string{mapping.RightRun}})
	r.NewRoute().HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, mapping.Errorf(mapping.NotFound, mapping.CodeRouteNotFound, "The toy serves /toy, /toy/say, /toys/{agent}/card, /toys/{agent}/say and /toys/{agent}/hooks/{task}."))
	})
}

// card also serves callers without a key, so it uses only the configuration.
func (s *face) card(w http.ResponseWriter, r *http.Request) {
	name := mux.Vars(r)["agent"]
	if _, ok := s.Agents[name]; !ok {
		refuse(w, mapping.Errorf(mapping.NotFound, mapping.CodeAgentNotFound, "There is no toy with that name."))
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
	case "GET /toys/{agent}/hooks/{task}":
		return adapter.Effect{Verb: mapping.Read, Kind: "task"}, true
	case "POST /toys/{agent}/hooks/{task}", "DELETE /toys/{agent}/hooks/{task}/{hook}":
		return adapter.Effect{Verb: mapping.Changed, Kind: "task"}, true
	}
	return adapter.Effect{}, false
}

// say starts a run with the words and responds with its steps.
func (s *face) say(w http.ResponseWriter, r *http.Request) {
	for _, name := range []string{talkHeader, nameHeader, onceHeader, taskHeader} {
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
	n := newRun(mux.Vars(r)["agent"], r.Header, string(words))
	for _, line := range r.Header.Values(notifyHeader) {
		n.Hooks = append(n.Hooks, readHook(line))
	}
	started, err := s.svc.StartRun(r.Context(), &n)
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

// readHook reads a line of Toy-Notify. The service refuses a hook with missing parts.
func readHook(line string) mapping.Hook {
	words := append(strings.Fields(line), "", "", "")
	h := mapping.Hook{ID: words[0], Flavour: flavour, URL: words[1], Token: words[2]}
	for _, status := range words[3:max(3, len(words)-3)] {
		h.Fires = append(h.Fires, mapping.TaskStatus(status))
	}
	return h
}

func taskOf(r *http.Request) adapter.TaskRef {
	return adapter.TaskRef{Agent: mux.Vars(r)["agent"], ID: mux.Vars(r)["task"], Flavour: flavour}
}

func (s *face) hooks(w http.ResponseWriter, r *http.Request) {
	list, err := s.svc.ListHooks(r.Context(), taskOf(r))
	if err != nil {
		refuse(w, mapping.Classify(err))
		return
	}
	for _, h := range list {
		fmt.Fprintln(w, h.ID, h.URL, h.Token, h.Fires)
	}
}

func (s *face) addHook(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	if err == nil {
		_, err = s.svc.CreateHook(r.Context(), taskOf(r), readHook(string(text)))
	}
	if err != nil {
		refuse(w, mapping.Classify(err))
	}
}

func (s *face) deleteHook(w http.ResponseWriter, r *http.Request) {
	if err := s.svc.DeleteHook(r.Context(), taskOf(r), mux.Vars(r)["hook"]); err != nil {
		refuse(w, mapping.Classify(err))
	}
}

// newRun returns the request for a run of an agent, or of the default agent if none is named.
func newRun(agent string, h http.Header, words string) adapter.RunRequest {
	input, _ := json.Marshal(map[string]any{"messages": []map[string]string{{"role": "user", "content": words}}})
	return adapter.RunRequest{
		ThreadID: h.Get(talkHeader), ThreadName: h.Get(nameHeader), TaskID: h.Get(taskHeader), Agent: agent, IfNotExists: "create", Flavour: flavour, Fields: []string{"words"},
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
