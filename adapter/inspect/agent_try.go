package inspect

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/body"
	"github.com/apbridge/apbridge/adapter/inspect/conversation"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/gorilla/mux"
)

// inputText is what a form says to an agent.
const inputText = "text"

// tryAgent says one message to an agent, from the page of agents.
type tryAgent struct{ *starting }

// serve sends one message to an agent on a thread of its own, and leads to the run, which can be watched.
func (t *tryAgent) serve(w http.ResponseWriter, r *http.Request) error {
	in, err := body.Values(w, r, 0)
	if err != nil {
		return err
	}
	agent, text := mux.Vars(r)["agent"], strings.TrimSpace(in.Get(inputText))
	if text == "" {
		return mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "There is nothing to send: the text is empty.")
	}
	if in.Get(inputSure) != "yes" {
		return t.show(w, r, agent, text)
	}
	n, err := t.saying(agent, text)
	if err != nil {
		return err
	}
	n.IdempotencyKey = in.Get(inputOnce)
	s, err := t.runs.StartRun(r.Context(), &n)
	if err != nil {
		return err
	}
	return t.done(w, r, runPath(s.Run.ID), startedOf(s))
}

// show says what is sent to which agent, if there is one.
func (t *tryAgent) show(w http.ResponseWriter, r *http.Request, agent, text string) error {
	if _, err := t.agents.GetAssistant(r.Context(), agent); err != nil {
		return err
	}
	return t.renderer.confirm(w, r, confirmation{
		Question: "Send this message?", Says: []string{fmt.Sprintf("The agent %q is called with it, on a thread of its own.", agent)},
		Sends: conversation.Cut(text).Text, Button: "Send the message", Back: "inspect/agents",
	}, inputText, text)
}

// saying is a run that says something to an agent, as a client of the first dialect would make it.
func (t *tryAgent) saying(agent, text string) (n adapter.RunRequest, err error) {
	input, err := json.Marshal(map[string]any{"messages": []map[string]string{{"role": "user", "content": text}}})
	if err != nil {
		return n, err
	}
	n = adapter.RunRequest{
		Agent: agent, Input: input, Kwargs: rule.RequestOf(input), HasInput: true, IfNotExists: "create", Flavour: t.flavour(""),
		Metadata: json.RawMessage(`{"made_by":"inspector"}`), Fields: []string{"input"},
	}
	return n, nil
}
