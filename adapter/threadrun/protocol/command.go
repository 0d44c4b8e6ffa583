package protocol

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/body"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// Reply is the reply to a command: its envelope, the losses of the run that it started, and the names of ignored
// members, as in body.IgnoredHeader.
type Reply struct {
	Body    []byte
	Losses  []mapping.Loss
	Ignored string
}

// command is a command in progress.
type command struct {
	*params // of the command
	s       *Server
	ctx     context.Context
	thread  string
	header  http.Header // of the request; nil on a WebSocket
	id      json.RawMessage
	method  string
	losses  []mapping.Loss
	ignored http.Header // only body.IgnoredHeader
	before  int64       // the result of newestNumber before the command
}

// operation executes a command and returns a function that writes its result.
type operation func(c *command) (result func(w *writer), err error)

// operations are the commands that need no connection (CDDL, CommandData) and the rights that they need.
var operations = map[string]struct {
	carry operation
	need  string
}{
	"run.start":             {(*command).runStart, mapping.RightRun},
	"input.respond":         {(*command).inputRespond, mapping.RightRun},
	"input.inject":          {(*command).inputInject, mapping.RightRun},
	"state.get":             {(*command).stateGet, mapping.RightRead},
	"state.listCheckpoints": {(*command).stateListCheckpoints, mapping.RightRead},
	"state.fork":            {(*command).stateFork, mapping.RightRun},
	"agent.getTree":         {(*command).agentGetTree, mapping.RightRead},
}

// verbs has the audit verbs of commands that do more than read.
var verbs = map[string]mapping.Verb{
	"run.start": mapping.Created, "input.respond": mapping.Answered, "input.inject": mapping.Changed, "state.fork": mapping.Changed,
}

// kinds has the kinds of objects that those commands change.
var kinds = map[string]string{"run.start": "run", "input.respond": "run", "input.inject": "state", "state.fork": "state"}

// overConnection lists the commands about the subscriptions of a WebSocket.
var overConnection = map[string]bool{
	"subscription.subscribe": true, "subscription.unsubscribe": true, "subscription.reconnect": true,
}

// Command executes one command for a thread. Errors of the command are in the reply. Command returns an error if the
// request is invalid or the bridge failed.
func (s *Server) Command(ctx context.Context, thread string, header http.Header, raw json.RawMessage) (Reply, error) {
	c, err := s.read(ctx, thread, raw)
	if err != nil {
		return Reply{}, err
	}
	c.header = header
	answer, err := c.reply(operations[c.method].carry, Snake|Camel)
	return Reply{Body: answer, Losses: c.losses, Ignored: c.ignored.Get(body.IgnoredHeader)}, err
}

// read reads the envelope {id, method, params} and checks the caller's right. If it returns an error, it also returns
// the part of the command that could be read, because the refusal needs its id.
func (s *Server) read(ctx context.Context, thread string, raw json.RawMessage) (*command, error) {
	c := &command{s: s, ctx: ctx, thread: thread, ignored: http.Header{}}
	if len(raw) == 0 {
		return c, malformed()
	}
	envelope, err := parse(raw, s.Depth)
	if err != nil {
		c.id = idWithin(raw)
		return c, err
	}
	c.id, c.method = idOf(envelope.object), rawjson.TextOf(envelope.get("method"))
	if c.id == nil || c.method == "" {
		return c, malformed()
	}
	if err := envelope.note(c.ignored, "", "a command", ofCommands); err != nil {
		return c, err
	}
	c.params = &params{object: envelope.get("params")}
	if k := rawjson.Kind(c.object); k != 0 && k != '{' {
		return c, malformed()
	}
	return c, c.permitted()
}

// idOf returns a command's id, or nil.
func idOf(envelope json.RawMessage) json.RawMessage {
	id := rawjson.Get(envelope, "id")
	if _, ok := whole(id); !ok {
		return nil
	}
	return id
}

// idWithin returns the id of a malformed command, such as one that is nested too deeply. Over a WebSocket, the sender
// would otherwise wait forever for a reply with the id.
func idWithin(raw json.RawMessage) json.RawMessage {
	if !rawjson.Valid(raw) || rawjson.Kind(raw) != '{' {
		return nil
	}
	return idOf(raw)
}

// permitted checks the right for the command. An unknown command requires the right to read, because its refusal
// contains the position of the thread.
func (c *command) permitted() error {
	return mapping.PrincipalOf(c.ctx).Need(cmp.Or(operations[c.method].need, mapping.RightRead))
}

// malformed returns the error for status 422, as documented (openapi.json, send_thread_streaming_command).
func malformed() error {
	return mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "A command is an object {id, method, params}: a whole number, a string, an object.")
}

// reply executes the command and writes the reply in the spelling of the command, or in the usual one if the command
// does not show its spelling.
func (c *command) reply(run operation, usual Spelling) ([]byte, error) {
	var result func(w *writer)
	var err error
	mapping.AddAuditObject(c.ctx, "thread", c.thread)
	if verb, ok := verbs[c.method]; ok {
		mapping.SetAuditVerb(c.ctx, verb)
		mapping.SetAuditKind(c.ctx, kinds[c.method])
	}
	if c.before, err = c.s.newestNumber(c.ctx, c.thread); err == nil {
		result, err = c.carryOut(run)
	}
	spelling := usual
	if c.seen == Snake || c.seen == Camel {
		spelling = c.seen
	}
	meta := func(w *writer) {
		w.text("thread_id", c.thread).int("applied_through_seq", c.before)
		if names := c.ignored.Get(body.IgnoredHeader); names != "" {
			w.text("ignored", names)
		}
	}
	if err == nil {
		return successReply(c.id, result, meta, spelling), nil
	}
	if e := mapping.Classify(err); answers(e) {
		return errorReply(c.id, e, meta, spelling), nil
	}
	return nil, err
}

func (c *command) carryOut(run operation) (func(w *writer), error) {
	switch {
	case run != nil:
		if err := c.note(c.ignored, "params.", c.method, taken[c.method]); err != nil {
			return nil, err
		}
		return run(c)
	case overConnection[c.method]:
		return nil, mapping.Errorf(mapping.Invalid, mapping.CodeNotSupported,
			"%s requires a WebSocket. Over HTTP, each POST to the stream is a subscription.", c.method)
	default:
		return nil, mapping.Errorf(mapping.Invalid, codeCommand, "There is no command %q.", c.method)
	}
}

// newestNumber returns the number of the thread's newest event, or 0 for a thread that does not exist yet. After a command,
// clients treat questions up to this number as old.
func (s *Server) newestNumber(ctx context.Context, thread string) (int64, error) {
	last, err := s.lastEntry(ctx, thread)
	return lastNumber(last), err
}

// lastEntry returns the last entry of the thread's log, or 0 for a thread that does not exist yet.
func (s *Server) lastEntry(ctx context.Context, thread string) (int64, error) {
	at, err := s.Service.ThreadPosition(ctx, thread, adapter.Cursor{K: -1, Live: true})
	if isNotFound(err) {
		return 0, nil
	}
	return at.Seq, err
}

func isNotFound(err error) bool { return err != nil && mapping.Classify(err).Class == mapping.NotFound }
