package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/body"
	"github.com/apbridge/apbridge/adapter/inspect/conversation"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
)

var againHTML = newPage("again", "runs", "again.js")

// editMost is how long an input may be to be changed in a form, and to stand in a program.
const editMost = 64 << 10

// Where a run is made again.
const (
	whereNew    = "new"    // on a thread of its own
	whereThread = "thread" // on its thread as it stands now
	whereBase   = "base"   // on its thread, from the checkpoint that it began on
)

// againView is what the page shows by which a run is made once more.
type againView struct {
	RunID     string             `json:"run_id"`
	ThreadID  string             `json:"thread_id"`
	Agent     string             `json:"agent"`
	Agents    []string           `json:"agents"`
	Base      string             `json:"base,omitempty"` // the checkpoint that it began on
	Input     string             `json:"input,omitempty"`
	Long      bool               `json:"long,omitempty"`    // the input is too long to be shown
	Answers   bool               `json:"answers,omitempty"` // it answered a question, and cannot be made again
	Programs  []adapter.Programs `json:"programs"`
	MayAct    bool               `json:"-"`
	WithInput bool               `json:"-"`
}

// rerun makes runs once more.
type rerun struct {
	*starting
	runs  runFinder
	names *agentNames
	asked Options // of which the programs are made
}

// runFinder is part of adapter.Runs.
type runFinder interface {
	GetRun(ctx context.Context, ref adapter.RunRef) (*mapping.Run, error)
}

// show answers with the page that asks how.
func (a *rerun) show(w http.ResponseWriter, r *http.Request) error {
	run, err := a.runs.GetRun(r.Context(), refOf(r))
	if err != nil {
		return err
	}
	input := inputGiven(run)
	v := againView{
		RunID: run.ID, ThreadID: run.ThreadID, Agent: run.Agent, Base: run.Base, Long: len(input) > editMost, Answers: run.Options.Resuming,
		WithInput: input != nil, MayAct: mapping.PrincipalOf(r.Context()).Need(acting...) == nil, Programs: []adapter.Programs{},
	}
	if v.Agents, err = a.names.all(r.Context(), run.Agent); err != nil {
		return err
	}
	if !v.Long && !v.Answers {
		v.Input, v.Programs = indentedASCII(input), a.programs(r, run, input)
	}
	return a.renderer.show(w, r, againHTML, "Run again", v)
}

// indentedASCII is JSON for a field that is sent back: nothing in it is invisible.
func indentedASCII(value json.RawMessage) string {
	if value == nil {
		return ""
	}
	return indented(json.RawMessage(adapter.InASCII(value)))
}

// programs ask for the run as clients of each dialect would, on a thread of its own.
func (a *rerun) programs(r *http.Request, run *mapping.Run, input json.RawMessage) []adapter.Programs {
	return a.dialects.Programs(adapter.SnippetParams{URL: a.asked.URL(r), Agent: run.Agent, Default: run.Agent == a.asked.DefaultAgent(), Keys: a.asked.Keys(), Input: input, Words: wordsOf(input)})
}

// wordsOf is what an input says in words.
func wordsOf(input json.RawMessage) string {
	in, err := rule.ParseInput(input, nil, "")
	if err != nil {
		return ""
	}
	return in.Text
}

// inputGiven is the input of a run as its client sent it; what came as messages is an input of messages. nil: none.
func inputGiven(r *mapping.Run) json.RawMessage {
	if r.Options.Input != nil {
		return r.Options.Input
	}
	input, messages, _ := rule.GivenInput(r.Kwargs)
	switch {
	case input != nil:
		return input
	case messages != nil:
		return new(rawjson.Writer).Open('{').Key("messages").Raw(messages, "[]").Close('}').Bytes
	}
	return nil
}

// serve makes a run once more: the same, with another input, of another agent. Its completion hook is not called again.
func (a *rerun) serve(w http.ResponseWriter, r *http.Request) error {
	in, err := body.Values(w, r, 0)
	if err != nil {
		return err
	}
	run, err := a.runs.GetRun(r.Context(), refOf(r))
	if err != nil {
		return err
	}
	if run.Options.Resuming {
		return mapping.Errorf(mapping.Invalid, mapping.CodeNotSupported, "The run answered a question, which is closed. Make the run again that asked, or go on from a checkpoint.")
	}
	input, err := inputOf(in)
	if err != nil {
		return err
	}
	if input == nil {
		input = inputGiven(run)
	}
	agent := cmp.Or(in.Get(inputAgent), run.Agent)
	n := once(run, input, agent)
	n.Flavour, n.IdempotencyKey = a.flavour(run.Flavour), in.Get(inputOnce)
	where := "on a thread of its own"
	switch in.Get(inputWhere) {
	case whereThread:
		n.ThreadID, where = run.ThreadID, "on the same thread, as it stands now"
	case whereBase:
		if run.Base == "" {
			return mapping.Errorf(mapping.Invalid, mapping.CodeNotSupported, "The run began on an empty thread. Have it made on a thread of its own.")
		}
		n.ThreadID, n.CheckpointID, where = run.ThreadID, run.Base, "on the same thread, from where the run began"
	case whereNew, "":
	default:
		return mapping.InvalidAt(inputWhere, "%q is none of new, thread and base.", in.Get(inputWhere))
	}
	if in.Get(inputSure) != "yes" {
		if _, err := a.agents.GetAssistant(r.Context(), agent); err != nil {
			return err
		}
		fields := []string{inputAgent, agent, inputWhere, in.Get(inputWhere)}
		if in.Get(inputJSON) != "" || in.Get(inputSays) != "" {
			fields = append(fields, inputJSON, asField(input))
		}
		return a.confirm(w, r, confirmation{
			Question: "Run this again?", Says: []string{fmt.Sprintf("The agent %q does its work once more, %s.", agent, where), "A completion hook of the first run is not called."},
			Sends: conversation.Cut(string(input)).Text, Button: "Run it again", Back: "inspect/runs/" + run.ID + "/again",
		}, fields...)
	}
	return a.start(w, r, n)
}

// once is a request for what a run was asked to do, but for where.
func once(run *mapping.Run, input json.RawMessage, agent string) adapter.RunRequest {
	if agent == run.Agent {
		agent = run.AssistantID
	}
	request, config, context := rule.RequestAgain(run.Kwargs, input)
	o := &run.Options
	return adapter.RunRequest{
		Agent: agent, Kwargs: request, Input: input, HasInput: input != nil, Metadata: run.Metadata, Config: config, Context: context,
		StreamModes: o.StreamModes, Subgraphs: o.Subgraphs, InterruptBefore: o.InterruptBefore, InterruptAfter: o.InterruptAfter,
		Multitask: mapping.StrategyReject, Fields: []string{"input"},
	}
}
