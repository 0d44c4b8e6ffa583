package protocol

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
)

// runModes are the stream modes of runs started by a command. The events are derived from them.
const runModes = `["values","updates","messages-tuple","custom","tasks","checkpoints","tools"]`

// request is a run requested by a command.
type request struct {
	agent      string
	input      json.RawMessage
	answers    bool            // the input's last human message answers a question
	resume     json.RawMessage // the answer to a question, instead of an input
	checkpoint string
}

// startOnce starts the run that ask derives from the command and the state of the thread. If an earlier command with
// the same Idempotency-Key has started a run, startOnce returns that run. It does not call ask then, because the
// question may no longer be open.
func (c *command) startOnce(ask func() (request, error)) (*mapping.Run, error) {
	if run, err := c.again(); run != nil || err != nil {
		return run, err
	}
	r, err := ask()
	if err == nil {
		return c.start(&r)
	}
	if run, failed := c.again(); run != nil && failed == nil { // the same command was executed concurrently
		return run, nil
	}
	return nil, err
}

// again returns the run that an earlier copy of the command started, or nil.
func (c *command) again() (*mapping.Run, error) {
	said := c.said()
	if said == nil {
		return nil, nil
	}
	before, err := c.s.Service.FindRepeatedRun(c.ctx, &adapter.RunRequest{ThreadID: c.thread, IdempotencyKey: c.header.Get(adapter.IdempotencyKeyHeader), Request: said})
	if before == nil || err != nil {
		return nil, err
	}
	c.losses = append(c.losses, before.Losses...)
	return &before.Run, nil
}

// said returns the content to which an Idempotency-Key is bound, or nil if there is no key. It is the command without
// its id, because a client may change the id when it repeats the command.
func (c *command) said() json.RawMessage {
	if c.header.Get(adapter.IdempotencyKeyHeader) == "" {
		return nil
	}
	w := (&rawjson.Writer{}).Open('{').Key("method").Text(c.method)
	return w.Key("params").Raw(c.object, "null").Close('}').Bytes
}

// start starts a run with the remaining params of the command. On a busy thread it is queued, unless the command sets
// another strategy.
func (c *command) start(r *request) (*mapping.Run, error) {
	if err := adapter.MemoryBudgetOf(c.ctx).Exhausted(); err != nil {
		return nil, err
	}
	w := &rawjson.Writer{}
	w.Open('{').Key("assistant_id").Text(r.agent)
	c.pass(w, "config", "metadata", "context", "langsmith_tracer", "interrupt_before", "interrupt_after")
	if r.resume != nil {
		c.command(w, r.resume)
	} else if r.input != nil {
		w.Key("input").Raw(r.input, "null")
	}
	if at := cmp.Or(r.checkpoint, c.forkedFrom()); at != "" {
		w.Key("checkpoint_id").Text(at)
	}
	w.Key("multitask_strategy").Raw(c.get("multitask_strategy"), `"enqueue"`)
	w.Key("stream_mode").Literal(runModes).Key("stream_subgraphs").Bool(true).Key("if_not_exists").Text("create")
	started, err := c.s.Start(c.ctx, Start{Thread: c.thread, Header: c.header, Payload: w.Close('}').Bytes, Answers: r.answers, Command: c.said()})
	if err != nil {
		return nil, err
	}
	c.losses = append(c.losses, started.Losses...)
	return &started.Run, nil
}

// pass writes params that have the same names in the REST API.
func (c *command) pass(w *rawjson.Writer, names ...string) {
	for _, n := range names {
		if v := c.get(n); v != nil {
			w.Key(n).Raw(v, "null")
		}
	}
}

// command writes LangGraph's command object: the answer and the other members of the params.
func (c *command) command(w *rawjson.Writer, resume json.RawMessage) {
	w.Key("command").Open('{').Key("resume").Raw(resume, "null")
	c.pass(w, "update", "goto")
	w.Close('}')
}

// forkedFrom returns the checkpoint in config.configurable, where SDKs put it.
func (c *command) forkedFrom() string {
	return rawjson.GetText(member(c.get("config"), "configurable"), "checkpoint_id")
}

// runStart starts a run and creates the thread if necessary. If the thread is waiting for an answer, the input is the
// answer.
func (c *command) runStart() (func(w *writer), error) {
	run, err := c.startOnce(c.asked)
	return func(w *writer) { w.text("run_id", run.ID) }, err
}

func (c *command) asked() (request, error) {
	agent, err := c.text("assistant_id", true)
	if err != nil {
		return request{}, err
	}
	r := request{agent: agent, input: c.get("input")}
	switch from := c.forkedFrom(); {
	case r.input != nil && from == "":
		r.resume, r.answers, err = c.asAnswer(agent, r.input)
	case r.input == nil && from != "":
		r.checkpoint, err = c.turnAgain(agent, from)
	}
	return r, err
}

// turnAgain returns the checkpoint at which to fork for a run without an input that repeats the turn from a checkpoint.
// For a thread/run agent that is the given checkpoint, where the turn's input is pending. For a task/step agent it is
// the checkpoint of the input.
func (c *command) turnAgain(agent, from string) (string, error) {
	a, err := c.s.Service.GetAssistant(c.ctx, agent)
	if err != nil || a.Exposes.ReportsState() {
		return from, err
	}
	inputs := adapter.HistoryQuery{Metadata: json.RawMessage(`{"source":"input"}`)}
	for st, err := range c.s.Service.StateHistory(c.ctx, c.thread, inputs) {
		if err != nil {
			return "", err
		}
		if st.Parent == from {
			return st.Checkpoint, nil
		}
	}
	return from, nil
}

// asAnswer returns an input as the answer to the thread's open question. It returns nil if there is none or if another
// agent asked it. A task/step agent is answered with text. If spoken is true, the text is in the messages of the input,
// which become part of the state.
func (c *command) asAnswer(agent string, input json.RawMessage) (resume json.RawMessage, spoken bool, err error) {
	open, err := c.questions()
	if err != nil || len(open) == 0 {
		return nil, false, err
	}
	a, err := c.s.Service.GetAssistant(c.ctx, agent)
	if err == nil && !a.Exposes.ReportsState() && len(rawjson.ElementsOf(member(input, "messages"))) > 0 {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, err
	}
	own, err := c.askedBy(a.Graph, open)
	if err != nil || !own {
		return nil, false, err
	}
	return input, false, nil
}

// inputRespond answers one or several questions.
func (c *command) inputRespond() (func(w *writer), error) {
	_, err := c.startOnce(c.responded)
	return func(*writer) {}, err
}

func (c *command) responded() (request, error) {
	answers, ids, err := c.answers()
	if err != nil {
		return request{}, err
	}
	run, err := c.newest()
	if err != nil {
		return request{}, err
	}
	open, err := c.questions()
	if err != nil {
		return request{}, err
	}
	named := rule.Named(answers, open)
	if len(named) < len(ids) {
		return request{}, noSuchQuestion(notOpen(answers, named), open)
	}
	asker, err := c.asker(named)
	if err != nil {
		return request{}, err
	}
	if asker != nil {
		run = asker
	}
	return request{agent: run.AssistantID, resume: answers}, nil
}

// notOpen returns the ids in an answer that are not open.
func notOpen(answers json.RawMessage, asked []mapping.Interrupt) (ids []string) {
	_ = rawjson.EachMember(answers, func(name rawjson.Quoted, _ json.RawMessage) { // written by this package
		if id := name.Text(); !slices.ContainsFunc(asked, func(q mapping.Interrupt) bool { return q.ID == id }) {
			ids = append(ids, id)
		}
	})
	return ids
}

// noSuchQuestion returns the error for an answer to questions that are not open.
func noSuchQuestion(ids []string, open []mapping.Interrupt) error {
	pending := idsOf(open)
	what := "No question is open"
	if len(open) > 0 {
		what = "Open: " + strings.Join(pending, ", ")
	}
	e := mapping.Errorf(mapping.Conflict, codeInterrupt, "The thread is not waiting for an answer to %s. %s.", strings.Join(ids, ", "), what)
	e.Detail = map[string]any{"pending": pending}
	return e
}

func idsOf(open []mapping.Interrupt) []string {
	ids := make([]string, len(open))
	for i, q := range open {
		ids[i] = q.ID
	}
	return ids
}

// answers reads {interrupt_id, response}, or a list of them under responses.
func (c *command) answers() (byID json.RawMessage, ids []string, err error) {
	entries := []json.RawMessage{c.object}
	if v := c.get("responses"); v != nil {
		if entries = rawjson.ElementsOf(v); len(entries) == 0 {
			return nil, nil, invalid("responses must be a non-empty list of answers.")
		}
	}
	w := &rawjson.Writer{}
	w.Open('{')
	for _, e := range entries {
		c.within(e, func(p *params) {
			var id string
			if id, err = firstText(err, p, "interrupt_id"); err != nil {
				return
			}
			if v := p.get("namespace"); v != nil && !isNamespace(v) {
				err = invalid("namespace must be a list of strings.")
				return
			}
			if slices.Contains(ids, id) {
				err = invalid("responses answers %s twice. Answer each question once.", id)
				return
			}
			ids = append(ids, id)
			w.Name(id).Raw(p.sent("response"), "null")
		})
	}
	return w.Close('}').Bytes, ids, err
}

func isNamespace(v json.RawMessage) bool {
	_, ok := textsOf(v)
	return ok
}

// firstText reads a required string unless err is already set.
func firstText(err error, p *params, name string) (string, error) {
	if err != nil {
		return "", err
	}
	return p.text(name, true)
}

// inputInject adds a message to a thread while its agent works. Agents accept no input during a run, so the message
// becomes the input of the next run. The command is refused while a question is open, because a separate run would drop
// the question or answer it by accident.
func (c *command) inputInject() (func(w *writer), error) {
	_, err := c.startOnce(c.injected)
	return func(*writer) {}, err
}

func (c *command) injected() (request, error) {
	if err := c.root(); err != nil {
		return request{}, err
	}
	message := c.get("message")
	role := rawjson.GetText(message, "role")
	if role != "user" && role != "system" || rawjson.Kind(member(message, "content")) != '"' {
		return request{}, invalid(`message must be {role, content}, with "user" or "system" for the role and a string for the content.`)
	}
	run, err := c.newest()
	if err != nil {
		return request{}, err
	}
	open, err := c.questions()
	if err == nil && len(open) > 0 {
		err = invalid("input.inject adds a message to a running run, but this thread is waiting for an answer to %s. Send input.respond.", strings.Join(idsOf(open), ", "))
	}
	w := (&rawjson.Writer{}).Open('{').Key("messages").Open('[').Raw(message, "null").Close(']').Close('}')
	return request{agent: run.AssistantID, input: w.Bytes}, err
}

// stateFork starts a run from an earlier checkpoint.
func (c *command) stateFork() (func(w *writer), error) {
	run, err := c.startOnce(c.forked)
	return func(w *writer) { w.text("run_id", run.ID).text("thread_id", c.thread) }, err
}

func (c *command) forked() (request, error) {
	at, err := c.text("checkpoint_id", true)
	if err != nil {
		return request{}, err
	}
	run, err := c.newest()
	if err != nil {
		return request{}, err
	}
	return request{agent: run.AssistantID, input: c.get("input"), checkpoint: at}, nil
}
