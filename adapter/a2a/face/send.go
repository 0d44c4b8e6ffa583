package face

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/a2a/wire"
	"github.com/apbridge/apbridge/adapter/sse"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
	"go.uber.org/zap"
)

// answerMember is the member of a run's stored request with the client's message that answers a question. Agents with a
// state get the answer alone, so that the message would be lost.
const answerMember = "a2a_message"

// The modes in which an agent with a state reports its run. Tokens are only requested for streams.
var (
	sendModes   = []string{"values"}
	streamModes = []string{"values", "updates", "messages-tuple"}
)

// sent is an accepted message.
type sent struct {
	request wire.SendMessageRequest
	task    mapping.Task
	run     mapping.Run
	// fresh reports whether the message began the task. Otherwise it answered a question, or it was repeated.
	fresh bool
}

// send reads a message and starts the run for it, or finds the one that it has already started. A client that resumes a
// stream has sent the message before, so nothing is started for it.
func (s *server) send(c *call, modes []string, resumes bool) (*sent, error) {
	var m sent
	if err := c.params(&m.request, &m.request.Tenant); err != nil {
		return nil, err
	}
	if err := s.check(c.version, &m.request); err != nil {
		return nil, err
	}
	n, err := s.runRequest(c, &m, modes)
	if err != nil {
		return nil, err
	}
	started, err := s.start(c, &m, n, resumes)
	if err != nil {
		return nil, badHook(c, err)
	}
	if len(started.Losses) > 0 {
		c.w.Header().Set("X-Apbridge-Unsupported", mapping.LossHeader(started.Losses))
	}
	m.run = started.Run
	if started.Repeated {
		if err := s.addHooks(c, n.Hooks, m.run.TaskID); err != nil {
			return nil, err
		}
	}
	mapping.AddAuditObject(c.r.Context(), "task", m.run.TaskID)
	if m.task.ID == "" {
		m.task = mapping.Task{
			ID: m.run.TaskID, ThreadID: m.run.ThreadID, ThreadName: n.ThreadName, Agent: m.run.Agent, CreatedAt: m.run.CreatedAt,
			Status: mapping.TaskSubmitted, StatusAt: m.run.CreatedAt,
		}
		m.fresh = m.run.ID == m.run.TaskID && !started.Repeated
	}
	if started.Repeated { // the task may have gone on
		runs, err := s.runsOf(c.r.Context(), &m.task)
		if err != nil {
			return nil, err
		}
		if len(runs) > 0 {
			m.run = runs[len(runs)-1]
		}
	}
	return &m, nil
}

// addHooks adds the hooks of a repeated message to its task, unless they are there already.
func (s *server) addHooks(c *call, hooks []mapping.Hook, task string) error {
	if len(hooks) == 0 {
		return nil
	}
	there, err := s.svc.ListHooks(c.r.Context(), c.ref(task))
	if err != nil {
		return err
	}
	for _, h := range hooks {
		known := func(k mapping.Hook) bool { return k.URL == h.URL && (h.ID == "" || k.ID == h.ID) }
		if slices.ContainsFunc(there, known) {
			continue
		}
		if _, err := s.svc.CreateHook(c.r.Context(), c.ref(task), h); err != nil {
			return badHook(c, err)
		}
	}
	return nil
}

// check refuses a message that is wrong whatever its task.
func (s *server) check(v wire.Version, q *wire.SendMessageRequest) error {
	m := q.Message
	filename := "filename"
	if v != wire.V1 {
		filename = "file.name"
	}
	if m.Role != wire.RoleUser {
		return invalidParams("message.role", "must be %s", wire.RoleUser)
	}
	if len(m.MessageID) > 255 || !mapping.IsText(m.MessageID) {
		return invalidParams("message.messageId", "must be a text of at most 255 bytes")
	}
	for i, p := range m.Parts {
		at := fmt.Sprintf("message.%s[%d]", wire.PartsField(v), i)
		if p.MediaType != "" && !fits(p.MediaType, s.cfg.InputModes) {
			return &wire.Error{
				Code: wire.CodeContentTypeNotSupported, Message: at + " has a media type that the agent does not take. Its card lists those that it takes.",
				Metadata: map[string]string{"mediaType": mapping.ToText(p.MediaType), "supported": strings.Join(s.cfg.InputModes, ", ")},
			}
		}
		if p.Filename != "" && !mapping.IsText(p.Filename) {
			return invalidParams(at+"."+filename, "must be UTF-8 without U+0000")
		}
	}
	return nil
}

// runRequest returns the request for the run of a message. For a message to a task, it sets the task.
func (s *server) runRequest(c *call, m *sent, modes []string) (*adapter.RunRequest, error) {
	q, message := &m.request, m.request.Message
	n := &adapter.RunRequest{
		Agent: c.agent.Graph, Flavour: flavourOf(c.version), StreamModes: modes, IfNotExists: "create", NewTask: message.TaskID == "",
		IdempotencyKey: keyOf(c, message), Fields: fieldsOf(q),
	}
	if !c.agent.Configured {
		n.Agent = c.agent.ID
	}
	var err error
	if n.Request, err = wire.Append(nil, wire.V1, wire.SendMessageRequest{Message: message, Metadata: q.Metadata}); err != nil {
		return nil, err
	}
	if q.Configuration != nil && q.Configuration.TaskPushNotificationConfig != nil {
		n.Hooks = []mapping.Hook{hookOf(c.version, q.Configuration.TaskPushNotificationConfig)}
	}
	if err := addMetadata(n, q.Metadata); err != nil {
		return nil, err
	}
	if message.TaskID != "" {
		return n, s.continueTask(c, m, n)
	}
	if message.ContextID != "" {
		if err := s.findContext(c.r.Context(), n, message.ContextID); err != nil {
			return nil, err
		}
	}
	addInput(n, message)
	return n, nil
}

// keyOf returns the key by which a repeated message is recognized (S 3.3.1).
func keyOf(c *call, m *wire.Message) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{c.agent.ID, m.ContextID, m.TaskID, m.MessageID}, "\x00")))
	return "a2a " + hex.EncodeToString(sum[:])
}

// findContext sets the thread of a context: the one with this id, otherwise the one to which the client gave this name.
func (s *server) findContext(ctx context.Context, n *adapter.RunRequest, id string) error {
	if !mapping.IsThreadName(id) {
		return invalidParams("message.contextId", "must be a text of 1 to %d printable characters", mapping.MaxThreadName)
	}
	if mapping.IsUUID(id) {
		found, err := s.svc.CountThreads(ctx, adapter.ThreadSearch{ThreadQuery: mapping.ThreadQuery{IDs: []string{strings.ToLower(id)}}, NoValues: true})
		if err != nil {
			return err
		}
		if found > 0 {
			n.ThreadID = strings.ToLower(id)
			return nil
		}
	}
	n.ThreadName = id
	return nil
}

// addInput makes a message the input of a run.
func addInput(n *adapter.RunRequest, m *wire.Message) {
	n.Input = new(rawjson.Writer).Open('{').Key("messages").Open('[').Raw(stateMessage(m), "null").Close(']').Close('}').Bytes
	n.HasInput = true
	n.Kwargs, _ = rawjson.WithMember(n.Kwargs, "input", n.Input)
}

// addMetadata adds the metadata of a request to its run, and to config.configurable, where graphs find it.
func addMetadata(n *adapter.RunRequest, metadata wire.Object) error {
	if metadata == nil {
		return nil
	}
	own := new(rawjson.Writer).Open('{').Key("a2a").Raw(json.RawMessage(metadata), "{}").Close('}').Bytes
	n.Metadata = own
	n.Config = new(rawjson.Writer).Open('{').Key("configurable").Raw(own, "{}").Close('}').Bytes
	var err error
	n.Kwargs, err = rawjson.WithMember(n.Kwargs, "config", n.Config)
	return err
}

// continueTask makes a message to a task the answer to its question.
func (s *server) continueTask(c *call, m *sent, n *adapter.RunRequest) error {
	message := m.request.Message
	t, err := s.findTask(c, message.TaskID)
	if err != nil {
		return err
	}
	if message.ContextID != "" && message.ContextID != contextOf(&t) {
		return invalidParams("message.contextId", "must be that of the task, or absent")
	}
	m.task, n.TaskID = t, t.ID
	if c.agent.Exposes.ReportsState() {
		return s.addAnswer(c, m, n)
	}
	if len(message.Parts) == 1 && message.Parts[0].Kind == wire.PartData {
		n.Command = &adapter.Command{Resume: message.Parts[0].Data, HasResume: true}
		n.Kwargs, err = rawjson.WithMember(n.Kwargs, "command", rawjson.Get(rule.RequestOfAnswer(message.Parts[0].Data), "command"))
		return err
	}
	n.OnlyAnswers = true
	addInput(n, message)
	return nil
}

// addAnswer makes a message the answer for an agent with a state, which receives the value alone: the words, or the data
// part. metadata.interruptId of the message names the question if several are open.
func (s *server) addAnswer(c *call, m *sent, n *adapter.RunRequest) (err error) {
	message := m.request.Message
	value := rawjson.Quote(words(message))
	if len(message.Parts) == 1 && message.Parts[0].Kind == wire.PartData {
		if value = message.Parts[0].Data; value == nil {
			value = json.RawMessage("null")
		}
	}
	for _, name := range questionMembers {
		if id := rawjson.GetText(json.RawMessage(message.Metadata), name); id != "" {
			if err := s.checkQuestion(c.r.Context(), &m.task, name, id); err != nil {
				return err
			}
			value = new(rawjson.Writer).Open('{').Name(id).Raw(value, "null").Close('}').Bytes
			break
		}
	}
	if slices.ContainsFunc(message.Parts, func(p wire.Part) bool { return p.Kind == wire.PartRaw || p.Kind == wire.PartURL }) {
		n.Fields = append(n.Fields, fieldAnswerFiles)
	}
	n.Command = &adapter.Command{Resume: value, HasResume: true}
	if n.Kwargs, err = rawjson.WithMember(n.Kwargs, "command", rawjson.Get(rule.RequestOfAnswer(value), "command")); err != nil {
		return err
	}
	kept, err := wire.Append(nil, wire.V1, *message)
	if err != nil {
		return err
	}
	n.Kwargs, err = rawjson.WithMember(n.Kwargs, answerMember, kept)
	return err
}

// checkQuestion refuses the id of a question that the task does not ask. Otherwise the agent would take the id and the
// value together for the answer.
func (s *server) checkQuestion(ctx context.Context, t *mapping.Task, name, id string) error {
	runs, err := s.runsOf(ctx, t)
	if err != nil || t.Status != mapping.TaskAsking || len(runs) == 0 {
		return err // the answer is repeated, or refused for the task's state
	}
	for e, err := range s.svc.RunEvents(ctx, runRef(&runs[len(runs)-1]), adapter.Cursor{K: -1, Start: true, End: true}, nil) {
		if err != nil {
			return err
		}
		if e.Head.Outcome == nil || slices.ContainsFunc(e.Head.Outcome.Interrupts, func(q mapping.Interrupt) bool { return q.ID == id }) {
			return nil
		}
	}
	return invalidParams("message.metadata."+name, "must be the interrupt_id of a question that the task asks")
}

// start starts the run, unless the message is a repeated one.
func (s *server) start(c *call, m *sent, n *adapter.RunRequest, resumes bool) (*adapter.Started, error) {
	if n.TaskID == "" && !resumes {
		return s.svc.StartRun(c.r.Context(), new(*n))
	}
	// Before the status of the task is checked: the answer may have ended it.
	earlier, err := s.svc.FindRepeatedRun(c.r.Context(), n)
	if earlier != nil || err != nil {
		return earlier, err
	}
	switch t := &m.task; {
	case resumes:
		return nil, badPosition()
	case t.Status.Ended():
		return nil, unsupported(t, "The task has ended. Send a message with its contextId alone.")
	case t.Status != mapping.TaskAsking:
		return nil, unsupported(t, "The task is at work and asks nothing. Send the message when it has ended, with its contextId alone.")
	}
	return s.svc.StartRun(c.r.Context(), new(*n))
}

// sendMessage serves the operation SendMessage.
func (s *server) sendMessage(c *call) error {
	m, err := s.send(c, sendModes, false)
	if err != nil {
		return err
	}
	if cfg := m.request.Configuration; cfg != nil && cfg.ReturnImmediately {
		task, err := s.taskNow(c, m)
		if err != nil {
			return err
		}
		return s.reply(c, wire.SendMessageResponse{Task: &task})
	}
	return s.wait(c, m)
}

// taskNow returns the task of a message as it is.
func (s *server) taskNow(c *call, m *sent) (wire.Task, error) {
	if m.fresh && m.run.Status.Active() {
		return m.begun(s.newView(c, &m.task)), nil
	}
	return s.taskOf(c, m)
}

// begun returns a task that a message has just begun.
func (m *sent) begun(v *view) wire.Task {
	contextID := contextOf(&m.task)
	first := v.shown(*m.request.Message)
	first.TaskID, first.ContextID = m.task.ID, contextID
	t := wire.Task{ID: m.task.ID, ContextID: contextID, Status: wire.TaskStatus{State: wire.StateSubmitted, Timestamp: m.run.CreatedAt}, History: []wire.Message{first}}
	t.History = newestOf(t.History, m.historyLength())
	return t
}

func (m *sent) historyLength() *int {
	if m.request.Configuration == nil {
		return nil
	}
	return m.request.Configuration.HistoryLength
}

// wait responds when the run of a message has ended. A client that leaves earlier stops nothing.
func (s *server) wait(c *call, m *sent) error {
	beat := &sse.KeepAlive{W: c.w, Type: c.contentType()}
	defer beat.Stop() // nothing may be written after the handler has returned
	beat.Start(s.waitBeat)
	ctx := c.r.Context()
	task, err := s.awaitTask(ctx, c, m)
	began := beat.Stop()
	if ctx.Err() != nil {
		stopping := adapter.Stopping(ctx)
		if stopping != nil && began {
			panic(http.ErrAbortHandler) // the client would take white space for a complete response
		}
		if stopping == nil {
			return ctx.Err()
		}
		return stopping
	}
	if !began {
		if err != nil {
			return err
		}
		return s.reply(c, wire.SendMessageResponse{Task: &task})
	}
	var raw []byte
	if err == nil {
		raw, err = c.encode(wire.SendMessageResponse{Task: &task})
	}
	if err != nil {
		if s.log.Warn("wait failed", zap.String("run", m.run.ID), zap.Error(err)); !c.rpc {
			panic(http.ErrAbortHandler) // the status is 200 already
		}
		raw = wire.AppendError(nil, c.id, toWire(err))
	}
	_, _ = c.w.Write(raw)
	return nil
}

// awaitTask waits until the run of a message has ended, or its agent waits for an authorization (S 3.2.2), and returns
// the task.
func (s *server) awaitTask(ctx context.Context, c *call, m *sent) (wire.Task, error) {
	v := s.newView(c, &m.task)
	mayWait, waits := c.agent.Exposes == mapping.ExposesHistory, false
	reading, stop := context.WithCancel(ctx)
	defer stop()
	idle := func() {
		if waits {
			stop()
		}
	}
	at := adapter.Cursor{K: -1, Start: true, End: !mayWait, Native: c.agent.Exposes != mapping.ExposesNothing}
	var made []*state.Entry
	for e, err := range s.svc.RunEvents(reading, runRef(&m.run), at, idle) {
		if err != nil && waits && ctx.Err() == nil {
			break
		}
		if err != nil {
			return wire.Task{}, err
		}
		if e != nil && e.Kind != mapping.KindEnd {
			waits = e.Head.Waiting
			if e.Kind == mapping.KindUpdate && e.Head.Native != nil {
				made = append(made, e)
			}
			continue
		}
		if !m.fresh || m.run.Base != "" || e == nil || e.Head.Outcome == nil {
			break
		}
		// The end of the first run of a thread has everything, except its files, without another query.
		v.begin(&m.run)
		v.base(nil)
		v.addEnd(&m.run, made, e)
	}
	if v.after == nil || v.status.State == wire.StateSubmitted {
		return s.taskOf(c, m)
	}
	task := v.task()
	task.History = newestOf(task.History, m.historyLength())
	if task.Status.State != wire.StateCompleted || v.after.Get(state.KeyFiles) != nil {
		known, err := s.svc.GetTask(ctx, c.ref(m.task.ID))
		if err != nil {
			return wire.Task{}, err
		}
		task.Artifacts = append(task.Artifacts, s.files(c, &known, v)...)
		if states[known.Status] == task.Status.State && !known.StatusAt.IsZero() {
			task.Status.Timestamp = known.StatusAt
		}
	}
	m.outputModes().task(task)
	return *task, nil
}

// taskOf returns the task of a message from the store.
func (s *server) taskOf(c *call, m *sent) (wire.Task, error) {
	t, err := s.findTask(c, m.task.ID)
	if err != nil {
		return wire.Task{}, err
	}
	task, err := s.fullTask(c, &t, m.historyLength())
	m.outputModes().task(&task)
	return task, err
}
