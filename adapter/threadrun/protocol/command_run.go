package protocol

import (
	"cmp"
	"encoding/json"
	"slices"

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
	resume     json.RawMessage // the answer to a question, instead of an input
	checkpoint string
}

// start starts a run with the further params that a command may have for it. It waits for its
// turn where the thread is busy, unless the command says otherwise.
func (c *command) start(r request) (mapping.Run, error) {
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
	started, err := c.s.Start(c.ctx, c.thread, c.header, w.Close('}').Bytes)
	c.losses = append(c.losses, started.Losses...)
	return started.Run, err
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
	return textOf(member(member(c.get("config"), "configurable"), "checkpoint_id"))
}

// runStart starts a run; the thread is made where it is not there. Where it waits for an
// answer, the input is the answer.
func (c *command) runStart() (func(w *writer), error) {
	agent, err := c.text("assistant_id", true)
	if err != nil {
		return nil, err
	}
	r := request{agent: agent, input: c.get("input")}
	if r.input != nil && c.forkedFrom() == "" {
		if r.resume, err = c.asAnswer(agent, r.input); err != nil {
			return nil, err
		}
	}
	run, err := c.start(r)
	return func(w *writer) { w.text("run_id", run.ID) }, err
}

// asAnswer is an input as the answer to the question that the thread waits with; nil where it
// waits with none. To a task/step agent, which is asked in words, it is what was said last.
func (c *command) asAnswer(agent string, input json.RawMessage) (json.RawMessage, error) {
	open, err := c.questions()
	if err != nil || len(open) == 0 {
		return nil, err
	}
	if a, err := c.s.Service.Agents.Resolve(c.ctx, agent); err != nil || !a.Opaque {
		return input, err
	}
	said := elements(member(input, "messages"))
	if len(said) == 0 {
		return input, nil
	}
	return member(said[len(said)-1], "content"), nil
}

// questions are those that the thread waits with; none on one that is not there.
func (c *command) questions() ([]mapping.Interrupt, error) {
	found, _, err := c.s.Service.Index.Search(c.ctx, adapter.ThreadQuery{IDs: []string{c.thread}, Limit: 1, NoValues: true})
	if err != nil {
		return nil, err
	}
	for t, err := range found {
		if err != nil || t.Status != mapping.ThreadInterrupted {
			return nil, err
		}
		return t.Interrupts, nil
	}
	return nil, nil
}

// newest is the thread's newest run, or no_such_run.
func (c *command) newest() (mapping.Run, error) {
	list, err := c.s.Service.RunIndex.List(c.ctx, adapter.RunQuery{ThreadID: c.thread, Limit: 1})
	if err == nil && len(list) == 0 {
		err = mapping.Errorf(mapping.NotFound, mapping.CodeRunNotFound, "The thread has had no run; send run.start first.")
	}
	if err != nil {
		return mapping.Run{}, err
	}
	return list[0], nil
}

// inputRespond answers one question, or several at once.
func (c *command) inputRespond() (func(w *writer), error) {
	answers, ids, err := c.answers()
	if err != nil {
		return nil, err
	}
	run, err := c.newest()
	if err != nil {
		return nil, err
	}
	open, err := c.questions()
	if err != nil {
		return nil, err
	}
	answers = rule.AnswerAsAsked(answers, open)
	if len(rule.Named(answers, open)) < len(ids) {
		return nil, mapping.Errorf(mapping.Conflict, codeInterrupt, "The thread does not wait for an answer to %q.", ids)
	}
	_, err = c.start(request{agent: run.AssistantID, resume: answers})
	return func(*writer) {}, err
}

// answers reads {interrupt_id, response}, or a list of them under responses.
func (c *command) answers() (byID json.RawMessage, ids []string, err error) {
	entries := []json.RawMessage{c.object}
	if v := c.get("responses"); v != nil {
		if entries = elements(v); len(entries) == 0 {
			return nil, nil, invalid("responses must be a list of answers that is not empty.")
		}
	}
	w := &rawjson.Writer{}
	w.Open('{')
	for _, e := range entries {
		c.within(e, func(p *params) {
			var id string
			if id, err = firstText(err, p, "interrupt_id"); err != nil || slices.Contains(ids, id) {
				return
			}
			ids = append(ids, id)
			w.Name(id).Raw(p.sent("response"), "null")
		})
	}
	return w.Close('}').Bytes, ids, err
}

// firstText is a text that must be there, unless something is wrong already.
func firstText(err error, p *params, name string) (string, error) {
	if err != nil {
		return "", err
	}
	return p.text(name, true)
}

// inputInject says something to a thread while its agent works. Agents take no words in the
// middle of a run, so they are the input of the next one.
func (c *command) inputInject() (func(w *writer), error) {
	if err := c.root(); err != nil {
		return nil, err
	}
	message := c.get("message")
	role := textOf(member(message, "role"))
	if role != "user" && role != "system" || rawjson.Kind(member(message, "content")) != '"' {
		return nil, invalid(`message must be {role, content}, with "user" or "system" for the role and a string for the content.`)
	}
	run, err := c.newest()
	if err != nil {
		return nil, err
	}
	open, err := c.questions()
	if err == nil && len(open) > 0 {
		err = invalid("The thread waits for an answer; send input.respond.")
	}
	if err != nil {
		return nil, err
	}
	w := &rawjson.Writer{}
	w.Open('{').Key("messages").Open('[').Raw(message, "null").Close(']').Close('}')
	_, err = c.start(request{agent: run.AssistantID, input: w.Bytes})
	return func(*writer) {}, err
}

// stateFork runs on from an earlier checkpoint.
func (c *command) stateFork() (func(w *writer), error) {
	at, err := c.text("checkpoint_id", true)
	if err != nil {
		return nil, err
	}
	run, err := c.newest()
	if err != nil {
		return nil, err
	}
	forked, err := c.start(request{agent: run.AssistantID, input: c.get("input"), checkpoint: at})
	return func(w *writer) { w.text("run_id", forked.ID).text("thread_id", c.thread) }, err
}
