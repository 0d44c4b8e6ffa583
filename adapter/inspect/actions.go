package inspect

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/body"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/gorilla/mux"
)

// Inputs of forms.
const (
	inputSure       = "sure" // "yes" if the action was confirmed
	inputOnce       = "once" // the idempotency key
	inputQuestion   = "question"
	inputAgent      = "agent"
	inputCheckpoint = "checkpoint"
	inputText       = "text"
	inputSays       = "says"  // the input as a user's message
	inputJSON       = "input" // the input as JSON
	inputWhere      = "where" // the thread on which a run is repeated
	inputRun        = "run"   // the run whose page has the form
)

// Values of inputWhere.
const (
	whereNew    = "new"    // a new thread
	whereThread = "thread" // the run's thread, at its head
	whereBase   = "base"   // the run's thread, at the checkpoint from which the run started
)

// maxEdit bounds an input that is shown in a form or a program, in bytes.
const maxEdit = 64 << 10

var (
	sureHTML  = newPage("sure", "runs")
	againHTML = newPage("again", "runs", "again.js")
)

// confirmation is the page that asks for confirmation of an action.
type confirmation struct {
	Question string        `json:"question"`
	Says     []string      `json:"says"`             // sentences
	Sends    string        `json:"sends,omitempty"`  // the beginning of the text that the agent receives
	Fields   []hiddenField `json:"fields,omitempty"` // fields for the confirming request
	Button   string        `json:"-"`
	Back     string        `json:"-"` // relative to the root of the bridge
}

type hiddenField struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// confirm shows the confirmation page of an action. fields are the names and values that the confirming request
// repeats.
func (s *server) confirm(w http.ResponseWriter, r *http.Request, c confirmation, fields ...string) error {
	mapping.SetAuditVerb(r.Context(), mapping.Read) // nothing is done yet
	for n := 0; n+1 < len(fields); n += 2 {
		c.Fields = append(c.Fields, hiddenField{fields[n], fields[n+1]})
	}
	c.Fields = append(c.Fields, hiddenField{inputSure, "yes"}, hiddenField{inputOnce, mapping.NewID()})
	return s.show(w, r, sureHTML, c.Question, c)
}

// startedView is a run that an action has started.
type startedView struct {
	RunID    string         `json:"run_id"`
	ThreadID string         `json:"thread_id"`
	Losses   []mapping.Loss `json:"losses,omitempty"`
}

func viewStarted(s *adapter.Started) startedView {
	return startedView{s.Run.ID, s.Run.ThreadID, s.Losses}
}

// start starts a run and redirects to its page.
func (s *server) start(w http.ResponseWriter, r *http.Request, n adapter.RunRequest) error {
	made, err := s.Service.StartRun(r.Context(), &n)
	if err != nil {
		return err
	}
	return redirect(w, r, runPath(made.Run.ID), viewStarted(made))
}

func runPath(id string) string { return "inspect/runs/" + url.PathEscape(id) }

func threadPath(id string) string { return "inspect/threads/" + url.PathEscape(id) }

// try sends one message to an agent on a new thread and redirects to the run.
func (s *server) try(w http.ResponseWriter, r *http.Request) error {
	in, err := body.Values(w, r, 0)
	if err != nil {
		return err
	}
	agent, text := mux.Vars(r)["agent"], strings.TrimSpace(in.Get(inputText))
	if text == "" {
		return mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "There is nothing to send: the text is empty.")
	}
	if in.Get(inputSure) != "yes" {
		if _, err := s.Service.GetAssistant(r.Context(), agent); err != nil {
			return err
		}
		return s.confirm(w, r, confirmation{
			Question: "Send this message?", Says: []string{fmt.Sprintf("The agent %q receives it on a new thread.", agent)},
			Sends: cut(text).Text, Button: "Send the message", Back: "inspect/agents",
		}, inputText, text)
	}
	input := messageInput(text)
	return s.start(w, r, adapter.RunRequest{
		Agent: agent, Input: input, Kwargs: rule.RequestOf(input), HasInput: true, IfNotExists: "create", Flavour: s.flavour(""),
		Metadata: json.RawMessage(`{"made_by":"inspector"}`), Fields: []string{"input"}, IdempotencyKey: in.Get(inputOnce),
	})
}

func (s *server) cancel(w http.ResponseWriter, r *http.Request) error {
	in, err := body.Values(w, r, 0)
	if err != nil {
		return err
	}
	run, err := s.Service.GetRun(r.Context(), refOf(r))
	if err != nil {
		return err
	}
	if in.Get(inputSure) != "yes" {
		return s.confirm(w, r, confirmation{
			Question: "Cancel this run?", Says: []string{fmt.Sprintf("The agent %q is told to stop. Everything it has done so far is kept.", run.Agent)},
			Button: "Cancel the run", Back: runPath(run.ID),
		})
	}
	mapping.AddAuditObject(r.Context(), "thread", run.ThreadID)
	already := !run.Status.Active() && run.CancelReason == mapping.CancelledByRequest // the button was pressed twice
	if !already {
		if err := s.Service.CancelRun(r.Context(), adapter.RunRef{ThreadID: run.ThreadID, RunID: run.ID}, adapter.CancelOptions{}); err != nil {
			return err
		}
	}
	return redirect(w, r, runPath(run.ID), startedView{RunID: run.ID, ThreadID: run.ThreadID})
}

// fork makes an agent continue from a checkpoint.
func (s *server) fork(w http.ResponseWriter, r *http.Request) error {
	in, err := body.Values(w, r, 0)
	if err != nil {
		return err
	}
	st, err := s.Service.GetState(r.Context(), threadOf(r), in.Get(inputCheckpoint))
	if err != nil {
		return err
	}
	input, err := inputOf(in)
	if err != nil {
		return err
	}
	if in.Get(inputSure) != "yes" {
		agent, err := s.Service.GetAssistant(r.Context(), in.Get(inputAgent))
		if err != nil {
			return err
		}
		says := []string{fmt.Sprintf("The agent %q continues from this checkpoint, on a new branch of the thread's history.", cmp.Or(in.Get(inputAgent), agent.Graph)),
			"The thread then continues on that branch. Everything after the checkpoint is kept, and you can return to it."}
		if input == nil {
			says = append(says, "It receives no input and takes the steps that come next there.")
		}
		return s.confirm(w, r, confirmation{
			Question: "Continue from here?", Says: says, Sends: shownInput(input), Button: "Continue from here",
			Back: threadPath(threadOf(r)) + "/checkpoints/" + url.PathEscape(st.Checkpoint),
		}, inputAgent, in.Get(inputAgent), inputCheckpoint, st.Checkpoint, inputJSON, hiddenJSON(input))
	}
	made, err := s.Service.StartRun(r.Context(), &adapter.RunRequest{
		ThreadID: threadOf(r), CheckpointID: st.Checkpoint, Agent: in.Get(inputAgent), Flavour: s.flavour(""), Input: input, HasInput: input != nil,
		Kwargs: rule.RequestOf(input), Multitask: mapping.StrategyReject, IdempotencyKey: in.Get(inputOnce), Fields: []string{"input"},
	})
	if err != nil {
		return err
	}
	return redirect(w, r, threadPath(made.Run.ThreadID), viewStarted(made))
}

// inputOf returns the input in a form: JSON, a message, or nil.
func inputOf(in url.Values) (json.RawMessage, error) {
	if whole := strings.TrimSpace(in.Get(inputJSON)); whole != "" {
		if !rawjson.Valid([]byte(whole)) {
			return nil, mapping.InvalidAt(inputJSON, "it must be JSON.")
		}
		return json.RawMessage(whole), nil
	}
	if said := in.Get(inputSays); strings.TrimSpace(said) != "" {
		return messageInput(said), nil
	}
	return nil, nil
}

func messageInput(text string) json.RawMessage {
	w := new(rawjson.Writer).Open('{').Key("messages").Open('[').Open('{').Key("role").Text("user").Key("content").Text(text)
	return w.Close('}').Close(']').Close('}').Bytes
}

// plainText returns the text of an input that consists of one message of a user. ok is false for any other input.
func plainText(input json.RawMessage) (text string, ok bool) {
	in, err := rule.ParseInput(input, nil, "")
	if err != nil || !in.HasText || len(in.Messages) != 1 || in.Other != nil || len(in.Files) > 0 || len(rule.Attachments(in.Messages[0])) > 0 {
		return "", false
	}
	return in.Text, rawjson.Kind(input) == '"' || rawjson.Get(input, state.KeyMessages) != nil
}

// shownInput returns an input as a confirmation page shows it.
func shownInput(input json.RawMessage) string {
	if text, ok := plainText(input); ok {
		return cut(text).Text
	}
	return cut(string(input)).Text
}

func hiddenJSON(value json.RawMessage) string {
	if len(value) == 0 {
		return ""
	}
	return adapter.InASCII(value)
}

// againView is the page with the form that runs a request again. The page of the run has a shorter form.
type againView struct {
	RunID    string             `json:"run_id"`
	ThreadID string             `json:"thread_id"`
	Agent    string             `json:"agent"`
	Agents   []string           `json:"agents"`
	Base     string             `json:"base,omitempty"` // the checkpoint from which the run started
	Title    string             `json:"-"`              // the beginning of the request
	Input    string             `json:"input,omitempty"`
	Text     string             `json:"text,omitempty"`    // the input, if it is only a text
	Long     bool               `json:"long,omitempty"`    // the input is too long to be shown
	Answers  bool               `json:"answers,omitempty"` // the run answered a question and cannot be repeated
	Programs []adapter.Programs `json:"programs"`
	MayAct   bool               `json:"-"`
}

// Curl returns the command for the dialect of the run's client, or for the last one; "" if there is none.
func (v againView) Curl(dialect string) (command string) {
	for _, p := range v.Programs {
		for _, code := range p.Snippets {
			if code.Language == "curl" && (command == "" || p.Dialect == dialect) {
				command = code.Text
			}
		}
	}
	return command
}

func (s *server) againPage(w http.ResponseWriter, r *http.Request) error {
	run, err := s.Service.GetRun(r.Context(), refOf(r))
	if err != nil {
		return err
	}
	v, err := s.viewAgain(r, run)
	if err != nil {
		return err
	}
	return s.show(w, r, againHTML, "Run again", v)
}

func (s *server) viewAgain(r *http.Request, run *mapping.Run) (v againView, err error) {
	input := givenInput(run)
	v = againView{
		RunID: run.ID, ThreadID: run.ThreadID, Agent: run.Agent, Base: run.Base, Title: requestTitle(rule.RequestText(run.Kwargs), run.Agent),
		Long: len(input) > maxEdit, Answers: run.Options.Resuming, MayAct: mayAct(r.Context()), Programs: []adapter.Programs{},
	}
	if v.Agents, err = s.agentNames(r.Context(), run.Agent); err != nil {
		return v, err
	}
	if !v.Long && !v.Answers {
		if input != nil {
			v.Input = indented(json.RawMessage(adapter.InASCII(input))) // in ASCII, because the field is sent back
		}
		v.Text, _ = plainText(input)
		v.Programs = s.programs(r, run, input)
	}
	return v, nil
}

// programs returns programs for each dialect that start the run on a new thread.
func (s *server) programs(r *http.Request, run *mapping.Run, input json.RawMessage) []adapter.Programs {
	words := ""
	if in, err := rule.ParseInput(input, nil, ""); err == nil {
		words = in.Text
	}
	return s.Dialects.Programs(adapter.SnippetParams{URL: s.URL(r), Agent: run.Agent, Default: run.Agent == s.DefaultAgent(), Keys: s.Keys(), Input: input, Words: words})
}

// givenInput returns the input of a run as its client sent it, or nil. Messages become an input of messages.
func givenInput(r *mapping.Run) json.RawMessage {
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

// runAgain repeats a run: unchanged, with another input, or with another agent. Its webhook is not called again.
func (s *server) runAgain(w http.ResponseWriter, r *http.Request) error {
	in, err := body.Values(w, r, 0)
	if err != nil {
		return err
	}
	run, err := s.Service.GetRun(r.Context(), refOf(r))
	if err != nil {
		return err
	}
	if run.Options.Resuming {
		return mapping.Errorf(mapping.Invalid, mapping.CodeNotSupported, "The run answered a question that is now closed. Repeat the run that asked, or continue from a checkpoint.")
	}
	input, err := inputOf(in)
	if err != nil {
		return err
	}
	given := givenInput(run)
	if text, ok := plainText(given); input == nil || ok && in.Get(inputJSON) == "" && in.Get(inputSays) == text {
		input = given
	}
	agent := cmp.Or(in.Get(inputAgent), run.Agent)
	n := requestAgain(run, input, agent)
	n.Flavour, n.IdempotencyKey = s.flavour(run.Flavour), in.Get(inputOnce)
	where := "on a new thread"
	switch in.Get(inputWhere) {
	case whereThread:
		n.ThreadID, where = run.ThreadID, "on the same thread, in its current state"
	case whereBase:
		if run.Base == "" {
			return mapping.Errorf(mapping.Invalid, mapping.CodeNotSupported, "The run started on an empty thread. Run it on a new thread instead.")
		}
		n.ThreadID, n.CheckpointID, where = run.ThreadID, run.Base, "on the same thread, from the checkpoint where the run started"
	case whereNew, "":
	default:
		return mapping.InvalidAt(inputWhere, "%q is not one of new, thread and base.", in.Get(inputWhere))
	}
	if in.Get(inputSure) != "yes" {
		if _, err := s.Service.GetAssistant(r.Context(), agent); err != nil {
			return err
		}
		fields := []string{inputAgent, agent, inputWhere, in.Get(inputWhere)}
		if !bytes.Equal(input, given) {
			fields = append(fields, inputJSON, hiddenJSON(input))
		}
		says := []string{fmt.Sprintf("The agent %q does the work again, %s.", agent, where)}
		if run.Options.Webhook != "" {
			says = append(says, "Its webhook is not called again.")
		}
		return s.confirm(w, r, confirmation{Question: "Run this again?", Says: says, Sends: shownInput(input), Button: "Run it again", Back: runPath(run.ID)}, fields...)
	}
	return s.start(w, r, n)
}

// requestAgain returns the request of a run without its thread.
func requestAgain(run *mapping.Run, input json.RawMessage, agent string) adapter.RunRequest {
	if agent == run.Agent {
		agent = run.AssistantID
	}
	request, config, context := rule.RequestAgain(run.Kwargs, input)
	o := &run.Options
	return adapter.RunRequest{
		Agent: agent, Kwargs: request, Input: input, HasInput: input != nil, Metadata: run.Metadata, Config: config, Context: context,
		StreamModes: o.StreamModes, Subgraphs: o.Subgraphs, InterruptBefore: o.InterruptBefore, InterruptAfter: o.InterruptAfter,
		Repeats: run.ID, Multitask: mapping.StrategyReject, Fields: []string{"input"},
	}
}

// answer answers an open question of a thread. If two answers arrive at once, the second response names the first
// answer.
func (s *server) answer(w http.ResponseWriter, r *http.Request) error {
	in, err := body.Values(w, r, 0)
	if err != nil {
		return err
	}
	ctx, id := r.Context(), in.Get(inputQuestion)
	t, err := s.Service.GetThread(ctx, threadOf(r))
	if err != nil {
		return err
	}
	at := slices.IndexFunc(t.Interrupts, hasID(id))
	if at < 0 {
		return s.answeredBefore(w, r, in, t.ID, id)
	}
	q := t.Interrupts[at]
	asks, err := s.runThatAsked(ctx, t.ID, q)
	if err != nil {
		return err
	}
	said, err := formOf(q).answer(in)
	if err != nil {
		return err
	}
	if in.Get(inputSure) != "yes" {
		c := confirmation{
			Question: "Send this answer?", Says: []string{fmt.Sprintf("The agent %q receives it and continues its work.", asks.Agent)},
			Sends: cut(formOf(q).inWords(in)).Text, Button: "Send the answer", Back: threadPath(t.ID),
		}
		if from := in.Get(inputRun); from != "" {
			c.Back = runPath(from)
		}
		return s.confirm(w, r, c, inputQuestion, id, answerJSON, adapter.InASCII(said), inputRun, in.Get(inputRun))
	}
	made, err := s.Service.StartRun(ctx, new(s.resumeRequest(t.ID, asks, q.ID, said, in.Get(inputOnce))))
	if err == nil {
		return redirect(w, r, afterAnswer(in, made), viewStarted(made))
	}
	if class := mapping.Classify(err).Class; class == mapping.Conflict || class == mapping.Invalid {
		if t, failed := s.Service.GetThread(ctx, t.ID); failed == nil && !slices.ContainsFunc(t.Interrupts, hasID(id)) {
			return s.answeredBefore(w, r, in, t.ID, id)
		}
	}
	return err
}

// afterAnswer returns the page that follows an answer: the run that continues, if the form was on the page of a run, or
// else the thread.
func afterAnswer(in url.Values, made *adapter.Started) string {
	if in.Get(inputRun) != "" {
		return runPath(made.Run.ID)
	}
	return threadPath(made.Run.ThreadID)
}

func hasID(id string) func(mapping.Interrupt) bool {
	return func(q mapping.Interrupt) bool { return q.ID == id }
}

// resumeRequest returns the request for a run that passes an answer to an agent. of is the run that asked, or one of
// the same agent and flavour.
func (s *server) resumeRequest(thread string, of mapping.Run, question string, said json.RawMessage, once string) adapter.RunRequest {
	resume := said
	if len(question) == 32 { // LangGraph's form of an id; agents do not know others
		resume = new(rawjson.Writer).Open('{').Key(question).Raw(said, "null").Close('}').Bytes
	}
	return adapter.RunRequest{
		ThreadID: thread, Agent: of.Agent, Flavour: s.flavour(of.Flavour), Multitask: mapping.StrategyReject, IdempotencyKey: once,
		Kwargs:  rule.RequestOfAnswer(said),
		Command: &adapter.Command{Resume: resume, HasResume: true}, Fields: []string{"command"},
	}
}

// answeredBefore serves a form whose question is no longer open. If the same form was sent before, for example by a
// second click, it redirects to the thread. Otherwise it returns an error that names the key that answered and the
// time.
func (s *server) answeredBefore(w http.ResponseWriter, r *http.Request, in url.Values, thread, id string) error {
	by, err := s.runThatAnswered(r.Context(), thread, hasID(id))
	if err != nil {
		return err
	}
	if by.ID == "" {
		return mapping.Errorf(mapping.Conflict, mapping.CodeNoPendingInterrupt, "The question is not open.")
	}
	if made := s.repeatedAnswer(r.Context(), in, by, id); made != nil {
		return redirect(w, r, afterAnswer(in, made), viewStarted(made))
	}
	who := "a caller without a key"
	if by.Owner != "" {
		who = fmt.Sprintf("the key %q", by.Owner)
	}
	e := mapping.Errorf(mapping.Conflict, mapping.CodeNoPendingInterrupt, "The question was answered already, by %s at %s.", who, by.CreatedAt.UTC().Format("15:04:05 UTC"))
	e.Detail = map[string]any{"run_id": by.ID, "owner": by.Owner, "answered_at": by.CreatedAt}
	return e
}

// runThatAnswered returns the newest run that answered a matching question, or the zero Run.
func (s *server) runThatAnswered(ctx context.Context, thread string, matches func(mapping.Interrupt) bool) (mapping.Run, error) {
	for r, err := range s.newestRuns(ctx, thread, maxThreadRuns) {
		if err != nil || slices.ContainsFunc(answeredQuestions(&r), matches) {
			return r, err
		}
	}
	return mapping.Run{}, nil
}

// answeredQuestions returns the questions that a run answers. If its answer names none, these are all open questions.
func answeredQuestions(r *mapping.Run) []mapping.Interrupt {
	if !r.Options.Resuming {
		return nil
	}
	if named := rule.Named(r.Options.Resume, r.Options.Asked); len(named) > 0 {
		return named
	}
	return r.Options.Asked
}

// repeatedAnswer returns the run that the same form started, or nil.
func (s *server) repeatedAnswer(ctx context.Context, in url.Values, by mapping.Run, id string) *adapter.Started {
	q := by.Options.Asked[slices.IndexFunc(by.Options.Asked, hasID(id))]
	said, err := formOf(q).answer(in)
	if err != nil || in.Get(inputSure) != "yes" || in.Get(inputOnce) == "" {
		return nil
	}
	made, err := s.Service.FindRepeatedRun(ctx, new(s.resumeRequest(by.ThreadID, by, id, said, in.Get(inputOnce))))
	if err != nil {
		return nil // the key belongs to another form
	}
	return made
}
