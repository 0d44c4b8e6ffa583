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

// runModes are the stream modes of runs that are started here: what the events are made of.
const runModes = `["values","updates","messages-tuple","custom","tasks","checkpoints","tools"]`

// request is a run that a command asks for.
type request struct {
	agent      string
	input      json.RawMessage
	answers    bool            // the input's last human message is the answer to a question
	resume     json.RawMessage // the answer to a question, instead of an input
	checkpoint string
}

// startOnce starts the run that ask makes of the command and of the thread as it stands. A command that came before
// under the same Idempotency-Key has its run already, and asks nothing of the thread: what it has answered is not open
// any more.
func (c *command) startOnce(ask func() (request, error)) (*mapping.Run, error) {
	if run, err := c.again(); run != nil || err != nil {
		return run, err
	}
	r, err := ask()
	if err == nil {
		return c.start(&r)
	}
	if run, failed := c.again(); run != nil && failed == nil { // the same command was carried out meanwhile
		return run, nil
	}
	return nil, err
}

// again finds the run that the same command has made before; nil where none has.
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

// said is what an Idempotency-Key stands for; nil without one. It is the command without its id, which a client may
// count on when it sends it again.
func (c *command) said() json.RawMessage {
	if c.header.Get(adapter.IdempotencyKeyHeader) == "" {
		return nil
	}
	w := (&rawjson.Writer{}).Open('{').Key("method").Text(c.method)
	return w.Key("params").Raw(c.object, "null").Close('}').Bytes
}

// start starts a run with the further params that a command may have for it. It waits for its turn where the thread is
// busy, unless the command says otherwise.
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

// pass writes members of the params that are called the same in the REST API.
func (c *command) pass(w *rawjson.Writer, names ...string) {
	for _, n := range names {
		if v := c.get(n); v != nil {
			w.Key(n).Raw(v, "null")
		}
	}
}

// command writes LangGraph's command object, with what is to happen beside the answer.
func (c *command) command(w *rawjson.Writer, resume json.RawMessage) {
	w.Key("command").Open('{').Key("resume").Raw(resume, "null")
	c.pass(w, "update", "goto")
	w.Close('}')
}

// forkedFrom is the checkpoint that SDKs name within config.configurable.
func (c *command) forkedFrom() string {
	return rawjson.GetText(member(c.get("config"), "configurable"), "checkpoint_id")
}

// runStart starts a run; the thread is made where it is not there. Where it waits for an answer, the input is the
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

// turnAgain returns the checkpoint to fork at in a run without an input, which has the turn made again that began at a
// checkpoint. The state of a thread/run agent there waits for that input. A task/step agent's waits for it after the
// checkpoint that the input made.
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

// asAnswer is an input as the answer to the question that the thread waits with; nil where it waits with none, or with
// another agent's. A task/step agent is answered in words: with spoken, the messages of the input have them, and come
// into the state as they are.
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

// inputRespond answers one question, or several at once.
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
	answers = rule.AnswerAsAsked(answers, open)
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

// notOpen are the ids in an answer of what is not asked.
func notOpen(answers json.RawMessage, asked []mapping.Interrupt) (ids []string) {
	_ = rawjson.EachMember(answers, func(name rawjson.Quoted, _ json.RawMessage) { // it was written here
		if id := name.Text(); !slices.ContainsFunc(asked, func(q mapping.Interrupt) bool { return q.ID == id }) {
			ids = append(ids, id)
		}
	})
	return ids
}

// noSuchQuestion refuses an answer to what is not open.
func noSuchQuestion(ids []string, open []mapping.Interrupt) error {
	pending := idsOf(open)
	what := "No question is open"
	if len(open) > 0 {
		what = "Open: " + strings.Join(pending, ", ")
	}
	e := mapping.Errorf(mapping.Conflict, codeInterrupt, "The thread does not wait for an answer to %s. %s.", strings.Join(ids, ", "), what)
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
			return nil, nil, invalid("responses must be a list of answers that is not empty.")
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

// firstText is a text that must be there, unless something is wrong already.
func firstText(err error, p *params, name string) (string, error) {
	if err != nil {
		return "", err
	}
	return p.text(name, true)
}

// inputInject says something to a thread while its agent works. Agents take no words in the middle of a run, so they
// are the input of the next one. While a question is open it is refused: a run of its own would drop the question, or
// answer it unasked.
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
		err = invalid("input.inject says something to a run that works, and this thread waits for an answer to %s. Send input.respond.", strings.Join(idsOf(open), ", "))
	}
	w := (&rawjson.Writer{}).Open('{').Key("messages").Open('[').Raw(message, "null").Close(']').Close('}')
	return request{agent: run.AssistantID, input: w.Bytes}, err
}

// stateFork runs on from an earlier checkpoint.
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
