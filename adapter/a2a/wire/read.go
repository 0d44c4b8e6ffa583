package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/apbridge/apbridge/mapping/rawjson"
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Limits bounds a document before or while it is decoded. A limit of 0 is none, except that JSON is never nested deeper
// than 10,000 levels.
type Limits struct {
	Bytes int // length of the document
	Depth int // nesting of objects and arrays, carried JSON included
	Count int // elements of one list of parts, messages, artifacts, tasks, skills or texts
}

// Reader reads documents of any version. It is safe for concurrent use; make one and keep it, since it caches decoders.
//
// It accepts what ProtoJSON accepts (S 5.5): snake_case names, enum numbers, both alphabets of base64, times with an
// offset, numbers in strings, and null for absent members. Unknown members are ignored (S 5.7). Both modes also accept
// the shapes of one version in the other one, such as parts with a kind or lower-case states in 1.0.
//
// A strict Reader is for requests. It refuses names that occur twice in an object, invalid UTF-8, missing members and
// unknown enum names. A lenient Reader is for answers of agents and takes these: a part without content is dropped, an
// unknown state or role and an unreadable time are zero, and required members may be missing.
type Reader struct {
	limits  Limits
	lenient bool
	v1      jsonv2.Options
	v03     jsonv2.Options
	v03HTTP jsonv2.Options
}

// NewReader returns a strict Reader.
func NewReader(l Limits) *Reader { return newReader(l, false) }

// NewLenientReader returns a lenient Reader.
func NewLenientReader(l Limits) *Reader { return newReader(l, true) }

func newReader(l Limits, lenient bool) *Reader {
	r := &Reader{limits: l, lenient: lenient}
	common := jsonv2.JoinOptions(jsonv2.MatchCaseInsensitiveNames(true), jsontext.AllowDuplicateNames(lenient), jsontext.AllowInvalidUTF8(lenient))
	options := func(v Version) jsonv2.Options {
		return jsonv2.JoinOptions(common, jsonv2.WithUnmarshalers(r.unmarshalers(v)))
	}
	r.v1, r.v03, r.v03HTTP = options(V1), options(V03), options(V03HTTP)
	return r
}

func (r *Reader) options(v Version) jsonv2.Options {
	switch v {
	case V03:
		return r.v03
	case V03HTTP:
		return r.v03HTTP
	}
	return r.v1
}

// Read decodes a document of version v into a type of this package, which into points to. A strict Reader also checks
// requests for missing members. Read keeps no part of raw, and leaves into undefined if it fails. An error is an
// *Error, of CodeInvalidParams if the Reader is strict and CodeInvalidAgentResponse if it is lenient. It repeats no
// values of the document.
func (r *Reader) Read(v Version, raw []byte, into any) error {
	if err := r.decode(v, raw, into); err != nil {
		return err
	}
	return r.verify(v, into)
}

func (r *Reader) decode(v Version, raw []byte, into any) error {
	if err := r.check(raw); err != nil {
		return err
	}
	if rawjson.IsNull(rawjson.Trim(raw)) && !mayBeNull(into) {
		return r.refuse(&jsonv2.SemanticError{Err: problemError("must be an object")})
	}
	if err := jsonv2.Unmarshal(raw, into, r.options(v)); err != nil {
		return r.refuse(err)
	}
	if s, ok := into.(*SendMessageRequest); ok && v != V1 && s.Configuration == nil {
		s.Configuration = &SendMessageConfiguration{ReturnImmediately: true}
	}
	return nil
}

// mayBeNull reports whether null is a document of a type: the answer to a deletion in 0.3, and an empty list from some
// servers.
func mayBeNull(into any) bool {
	switch into.(type) {
	case *Empty, *ListTaskPushNotificationConfigsResponse:
		return true
	}
	return false
}

// verify checks a request for missing members if the Reader is strict.
func (r *Reader) verify(v Version, into any) error {
	if c, ok := into.(checker); ok && !r.lenient {
		if at, problem := c.check(v); problem != "" {
			return invalidAt(at, problem)
		}
	}
	return nil
}

// check applies the limits that need no decoding.
func (r *Reader) check(raw []byte) error {
	code := r.code()
	switch {
	case r.limits.Bytes > 0 && len(raw) > r.limits.Bytes:
		return &Error{Code: code, Message: fmt.Sprintf("The JSON is longer than %d bytes.", r.limits.Bytes)}
	case r.limits.Depth > 0 && !rawjson.ValidWithin(raw, r.limits.Depth) && rawjson.Valid(raw):
		return &Error{Code: code, Message: fmt.Sprintf("The JSON is nested deeper than %d levels.", r.limits.Depth)}
	}
	return nil
}

func (r *Reader) code() Code {
	if r.lenient {
		return CodeInvalidAgentResponse
	}
	return CodeInvalidParams
}

// refuse converts an error of the decoder. It does not keep err, whose text may contain the value that caused it.
func (r *Reader) refuse(err error) *Error {
	e := &Error{Code: r.code(), Message: "The JSON is not valid."}
	var own *Error
	var semantic *jsonv2.SemanticError
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &semantic):
		at, problem := fieldOf(semantic.JSONPointer), "has the wrong type"
		if p := (problemError("")); errors.As(err, &p) {
			problem = string(p)
		} else if errors.Is(err, jsontext.ErrDuplicateName) {
			problem = "occurs twice in its object"
		}
		e.Message = sentence(at, problem)
		e.Violations = []Violation{{Field: at, Description: problem}}
	case errors.Is(err, jsontext.ErrDuplicateName):
		e.Message = "The JSON has an object that names one key twice."
	case errors.As(err, &syntactic):
		e.Message = fmt.Sprintf("The JSON is not valid (at byte %d).", syntactic.ByteOffset)
	}
	return e
}

// problemError is why a value cannot be decoded, as the end of a sentence.
type problemError string

func (p problemError) Error() string { return string(p) }

// fieldOf turns a pointer such as /message/parts/0 into a path such as message.parts[0].
func fieldOf(p jsontext.Pointer) string {
	var b strings.Builder
	for token := range p.Tokens() {
		switch {
		case isNumber(token) && b.Len() > 0:
			fmt.Fprintf(&b, "[%s]", token)
			continue
		case b.Len() > 0:
			b.WriteByte('.')
		}
		b.WriteString(shorten(token))
	}
	return b.String()
}

func sentence(field, problem string) string {
	if field == "" {
		return "The JSON " + problem + "."
	}
	return field + " " + problem + "."
}

func invalidAt(field, problem string) *Error {
	return &Error{Code: CodeInvalidParams, Message: sentence(field, problem), Violations: []Violation{{Field: field, Description: problem}}}
}

// unmarshalers are the decoders of the types that have several shapes.
func (r *Reader) unmarshalers(v Version) *jsonv2.Unmarshalers {
	return jsonv2.JoinUnmarshalers(
		jsonv2.UnmarshalFromFunc(readObject),
		jsonv2.UnmarshalFromFunc(readInt),
		jsonv2.UnmarshalFromFunc(r.readTime),
		jsonv2.UnmarshalFromFunc(r.readState),
		jsonv2.UnmarshalFromFunc(r.readRole),
		jsonv2.UnmarshalFromFunc(func(dec *jsontext.Decoder, parts *Parts) error { return r.readParts(dec, v, parts) }),
		jsonv2.UnmarshalFromFunc(readMessage),
		jsonv2.UnmarshalFromFunc(readStatus),
		jsonv2.UnmarshalFromFunc(readStatusUpdate),
		jsonv2.UnmarshalFromFunc(func(dec *jsontext.Decoder, s *StreamResponse) error { return r.readStreamResponse(dec, v, s) }),
		jsonv2.UnmarshalFromFunc(func(dec *jsontext.Decoder, s *SendMessageResponse) error { return r.readSendResponse(dec, v, s) }),
		jsonv2.UnmarshalFromFunc(func(dec *jsontext.Decoder, c *SendMessageConfiguration) error { return readConfiguration(dec, v, c) }),
		jsonv2.UnmarshalFromFunc(readPushConfig),
		jsonv2.UnmarshalFromFunc(readAuthentication),
		jsonv2.UnmarshalFromFunc(func(dec *jsontext.Decoder, g *GetTaskPushNotificationConfigRequest) error {
			return readConfigName(dec, v, &g.Tenant, &g.TaskID, &g.ID)
		}),
		jsonv2.UnmarshalFromFunc(func(dec *jsontext.Decoder, d *DeleteTaskPushNotificationConfigRequest) error {
			return readConfigName(dec, v, &d.Tenant, &d.TaskID, &d.ID)
		}),
		jsonv2.UnmarshalFromFunc(func(dec *jsontext.Decoder, l *ListTaskPushNotificationConfigsRequest) error {
			return readConfigList(dec, v, l)
		}),
		jsonv2.UnmarshalFromFunc(readConfigPage),
		jsonv2.UnmarshalFromFunc(readCard),
		jsonv2.UnmarshalFromFunc(readInterface),
		jsonv2.UnmarshalFromFunc(readSkill),
		jsonv2.UnmarshalFromFunc(readRequirement),
		jsonv2.UnmarshalFromFunc(r.readScheme),
		bounded[Message](r), bounded[Artifact](r), bounded[Task](r), bounded[string](r), bounded[TaskPushNotificationConfig](r),
		bounded[AgentInterface](r), bounded[AgentSkill](r), bounded[AgentExtension](r), bounded[AgentCardSignature](r), bounded[SecurityRequirement](r),
	)
}

// bounded decodes a list of at most Limits.Count elements.
func bounded[T any](r *Reader) *jsonv2.Unmarshalers {
	return jsonv2.UnmarshalFromFunc(func(dec *jsontext.Decoder, list *[]T) error {
		*list = nil
		return r.elements(dec, func() error {
			var element T
			if err := jsonv2.UnmarshalDecode(dec, &element); err != nil {
				return err
			}
			*list = append(*list, element)
			return nil
		})
	})
}

// elements calls read at each element of a list. null is an empty list.
func (r *Reader) elements(dec *jsontext.Decoder, read func() error) error {
	switch dec.PeekKind() {
	case 'n':
		return dec.SkipValue()
	case '[':
	default:
		return problem(dec, "must be a list")
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for n := 1; dec.PeekKind() != ']'; n++ {
		if r.limits.Count > 0 && n > r.limits.Count {
			return problemError(fmt.Sprintf("must have at most %d elements", r.limits.Count))
		}
		if err := read(); err != nil {
			return err
		}
	}
	_, err := dec.ReadToken()
	return err
}

// problem skips a value that is JSON and returns why it is refused. It returns the syntax error of any other text.
func problem(dec *jsontext.Decoder, why string) error {
	if err := dec.SkipValue(); err != nil {
		return err
	}
	return problemError(why)
}

func readObject(dec *jsontext.Decoder, o *Object) error {
	raw, err := dec.ReadValue()
	switch {
	case err != nil:
		return err
	case raw.Kind() == 'n':
		*o = nil
		return nil
	case raw.Kind() != '{':
		return problemError("must be an object")
	}
	*o = Object(raw.Clone())
	return nil
}

// readInt reads an int32 as ProtoJSON has it: 3, 3.0, 3e0 or "3".
func readInt(dec *jsontext.Decoder, n *int) error {
	tok, err := dec.ReadToken()
	if err != nil {
		return err
	}
	if k := tok.Kind(); k != '0' && k != '"' {
		if k == 'n' {
			*n = 0
			return nil
		}
		if k == '{' || k == '[' {
			return problemError("must be an integer")
		}
	}
	var ok bool
	if *n, ok = parseInt(tok.String()); !ok {
		return problemError("must be an integer of 32 bits")
	}
	return nil
}

func parseInt(s string) (int, bool) {
	if n, err := strconv.ParseInt(s, 10, 32); err == nil {
		return int(n), true
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > math.MaxInt32 || strings.ContainsAny(s, "xXpP_") {
		return 0, false
	}
	return int(f), true
}

// timeLayouts are the times that agents send, the official one first. The last two lack a zone, as LangGraph's do.
var timeLayouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999Z0700", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999"}

func parseTime(s string) (time.Time, bool) {
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

func (r *Reader) readTime(dec *jsontext.Decoder, t *time.Time) error {
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	*t = time.Time{}
	if raw.Kind() == 'n' {
		return nil
	}
	text, isText := rawjson.Text(json.RawMessage(raw))
	got, ok := parseTime(text)
	if (!isText || !ok) && !r.lenient {
		return problemError("must be a time such as 2026-11-28T10:30:00.000Z")
	}
	*t = got
	return nil
}

// states are the names and numbers of every version. 0.3's a2a.proto writes CANCELLED.
var states = func() map[string]TaskState {
	all := map[string]TaskState{
		"TASK_STATE_UNSPECIFIED": "", "0": "", "unknown": "",
		"TASK_STATE_CANCELLED": StateCanceled, "cancelled": StateCanceled,
	}
	for i, s := range []TaskState{StateSubmitted, StateWorking, StateCompleted, StateFailed, StateCanceled, StateInputRequired, StateRejected, StateAuthRequired} {
		all[string(s)] = s
		all[strconv.Itoa(i+1)] = s
		all[s.legacy()] = s
	}
	return all
}()

// legacy returns the name of a state in 0.3's a2a.json.
func (s TaskState) legacy() string {
	if s == "" {
		return "unknown"
	}
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(string(s), "TASK_STATE_")), "_", "-")
}

var roles = map[string]Role{
	"ROLE_UNSPECIFIED": "", "0": "",
	"ROLE_USER": RoleUser, "1": RoleUser, "user": RoleUser,
	"ROLE_AGENT": RoleAgent, "2": RoleAgent, "agent": RoleAgent,
}

func (r *Reader) readState(dec *jsontext.Decoder, s *TaskState) error {
	return readEnum(dec, states, s, r.lenient, "must be a task state such as "+string(StateWorking))
}

func (r *Reader) readRole(dec *jsontext.Decoder, role *Role) error {
	return readEnum(dec, roles, role, r.lenient, "must be "+string(RoleUser)+" or "+string(RoleAgent))
}

func readEnum[T ~string](dec *jsontext.Decoder, names map[string]T, into *T, lenient bool, why string) error {
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	*into = ""
	if raw.Kind() == 'n' {
		return nil
	}
	value, ok := names[rawjson.ScalarText(json.RawMessage(raw))]
	if !ok && !lenient {
		return problemError(why)
	}
	*into = value
	return nil
}

func (r *Reader) readParts(dec *jsontext.Decoder, v Version, parts *Parts) error {
	*parts = nil
	return r.elements(dec, func() error {
		if dec.PeekKind() != '{' {
			if r.lenient {
				return dec.SkipValue()
			}
			err := problem(dec, "must be an object")
			return &jsonv2.SemanticError{JSONPointer: dec.StackPointer(), Err: err}
		}
		var x readPart
		if err := jsonv2.UnmarshalDecode(dec, &x); err != nil {
			return err
		}
		p, err := x.part(v, r.lenient)
		if err != nil {
			return &jsonv2.SemanticError{JSONPointer: dec.StackPointer(), Err: err}
		}
		if p.Kind != 0 {
			*parts = append(*parts, p)
		}
		return nil
	})
}

type message Message

// readMessage also takes content, the parts of 0.3's a2a.proto.
func readMessage(dec *jsontext.Decoder, m *Message) error {
	var x struct {
		message
		Content Parts `json:"content"`
	}
	if err := jsonv2.UnmarshalDecode(dec, &x); err != nil {
		return err
	}
	if len(x.Parts) == 0 {
		x.Parts = x.Content
	}
	*m = Message(x.message)
	return nil
}

type taskStatus TaskStatus

// readStatus also takes update, the message of 0.3's a2a.proto for readers that know its field names only.
func readStatus(dec *jsontext.Decoder, s *TaskStatus) error {
	var x struct {
		taskStatus
		Update *Message `json:"update"`
	}
	if err := jsonv2.UnmarshalDecode(dec, &x); err != nil {
		return err
	}
	if x.Message == nil {
		x.Message = x.Update
	}
	*s = TaskStatus(x.taskStatus)
	return nil
}

type statusUpdate TaskStatusUpdateEvent

func readStatusUpdate(dec *jsontext.Decoder, u *TaskStatusUpdateEvent) error {
	var x struct {
		statusUpdate
		Final bool `json:"final"`
	}
	if err := jsonv2.UnmarshalDecode(dec, &x); err != nil {
		return err
	}
	*u = TaskStatusUpdateEvent(x.statusUpdate)
	u.Final = x.Final
	return nil
}

// readStreamResponse takes an event in its wrapper (1.0, 0.3's a2a.proto) or flat. Flat events are known by their kind
// (0.3's a2a.json) or their members (agents that mix the versions).
func (r *Reader) readStreamResponse(dec *jsontext.Decoder, v Version, s *StreamResponse) error {
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	*s = StreamResponse{}
	if raw.Kind() != '{' {
		return problemError("must be an object")
	}
	var x struct {
		Kind           string         `json:"kind"`
		Task           jsontext.Value `json:"task"`
		Message        jsontext.Value `json:"message"`
		Msg            jsontext.Value `json:"msg"`
		StatusUpdate   jsontext.Value `json:"statusUpdate"`
		ArtifactUpdate jsontext.Value `json:"artifactUpdate"`
		ID             jsontext.Value `json:"id"`
		TaskID         jsontext.Value `json:"taskId"`
		Status         jsontext.Value `json:"status"`
		Artifact       jsontext.Value `json:"artifact"`
		MessageID      jsontext.Value `json:"messageId"`
	}
	o := r.options(v)
	if err := jsonv2.Unmarshal(raw, &x, o); err != nil {
		return err
	}
	if x.Message == nil {
		x.Message = x.Msg
	}
	var found []any
	var text []jsontext.Value
	take := func(value jsontext.Value, into any) {
		if k := value.Kind(); k != 0 && k != 'n' {
			found, text = append(found, into), append(text, value)
		}
	}
	task, msg, status, artifact := new(Task), new(Message), new(TaskStatusUpdateEvent), new(TaskArtifactUpdateEvent)
	take(x.Task, task)
	take(x.Message, msg)
	take(x.StatusUpdate, status)
	take(x.ArtifactUpdate, artifact)
	if len(found) == 0 {
		flat := func(kind string, members ...jsontext.Value) bool {
			if x.Kind != "" {
				return x.Kind == kind
			}
			for _, m := range members {
				if m == nil {
					return false
				}
			}
			return true
		}
		switch {
		case flat("artifact-update", x.TaskID, x.Artifact):
			take(raw, artifact)
		case flat("status-update", x.TaskID, x.Status):
			take(raw, status)
		case flat("task", x.ID, x.Status):
			take(raw, task)
		case flat("message", x.MessageID):
			take(raw, msg)
		}
	}
	if len(found) != 1 {
		return problemError("must have exactly one of task, message, statusUpdate and artifactUpdate")
	}
	if err := jsonv2.Unmarshal(text[0], found[0], o); err != nil {
		return err
	}
	switch event := found[0].(type) {
	case *Task:
		s.Task = event
	case *Message:
		s.Message = event
	case *TaskStatusUpdateEvent:
		s.StatusUpdate = event
	case *TaskArtifactUpdateEvent:
		s.ArtifactUpdate = event
	}
	return nil
}

func (r *Reader) readSendResponse(dec *jsontext.Decoder, v Version, s *SendMessageResponse) error {
	var x StreamResponse
	if err := r.readStreamResponse(dec, v, &x); err != nil {
		return err
	}
	if x.Task == nil && x.Message == nil {
		return problemError("must have a task or a message")
	}
	*s = SendMessageResponse{Task: x.Task, Message: x.Message}
	return nil
}

type configuration SendMessageConfiguration

// readConfiguration reads the settings of all versions. blocking of 0.3 is false if it is absent. In 1.0 it is not a
// member, but a client that sends false means it: without that its call would wait.
func readConfiguration(dec *jsontext.Decoder, v Version, c *SendMessageConfiguration) error {
	var x struct {
		configuration
		Blocking               *bool                       `json:"blocking"`
		PushNotificationConfig *TaskPushNotificationConfig `json:"pushNotificationConfig"` // a2a.json of 0.3
		PushNotification       *TaskPushNotificationConfig `json:"pushNotification"`       // a2a.proto of 0.3
	}
	if err := jsonv2.UnmarshalDecode(dec, &x); err != nil {
		return err
	}
	*c = SendMessageConfiguration(x.configuration)
	for _, push := range []*TaskPushNotificationConfig{x.PushNotificationConfig, x.PushNotification} {
		if c.TaskPushNotificationConfig == nil {
			c.TaskPushNotificationConfig = push
		}
	}
	if x.Blocking != nil {
		c.ReturnImmediately = c.ReturnImmediately || !*x.Blocking
	} else if v != V1 {
		c.ReturnImmediately = true
	}
	if v == V03HTTP && c.HistoryLength != nil && *c.HistoryLength == 0 {
		c.HistoryLength = nil // proto3 without optional: 0 is unset
	}
	return nil
}

type pushConfig TaskPushNotificationConfig

// readPushConfig also takes 0.3's: {taskId, pushNotificationConfig} of a2a.json, {name, pushNotificationConfig} of
// a2a.proto, and {parent, configId, config}, the message of its Create call. An empty authentication,
// which protobuf clients may write, means none.
func readPushConfig(dec *jsontext.Decoder, c *TaskPushNotificationConfig) error {
	var x struct {
		pushConfig
		Name     string                      `json:"name"`
		Parent   string                      `json:"parent"`
		ConfigID string                      `json:"configId"`
		Inner    *TaskPushNotificationConfig `json:"pushNotificationConfig"`
		Config   *TaskPushNotificationConfig `json:"config"`
	}
	if err := jsonv2.UnmarshalDecode(dec, &x); err != nil {
		return err
	}
	*c = TaskPushNotificationConfig(x.pushConfig)
	for _, inner := range []*TaskPushNotificationConfig{x.Inner, x.Config} {
		if inner == nil {
			continue
		}
		c.URL, c.Token, c.Authentication = inner.URL, inner.Token, inner.Authentication
		if inner.ID != "" {
			c.ID = inner.ID
		}
		if inner.TaskID != "" {
			c.TaskID = inner.TaskID
		}
	}
	if a := c.Authentication; a != nil && *a == (AuthenticationInfo{}) {
		c.Authentication = nil
	}
	if c.ID == "" {
		c.ID = x.ConfigID
	}
	for _, name := range []string{x.Name, x.Parent} {
		task, config := splitName(name)
		if c.TaskID == "" {
			c.TaskID = task
		}
		if c.ID == "" {
			c.ID = config
		}
	}
	return nil
}

// splitName takes a resource name of 0.3's a2a.proto apart: tasks/T/pushNotificationConfigs/C, or tasks/T.
func splitName(name string) (task, config string) {
	rest, ok := strings.CutPrefix(name, "tasks/")
	if !ok {
		return "", ""
	}
	task, config, _ = strings.Cut(rest, "/pushNotificationConfigs/")
	return task, config
}

func readAuthentication(dec *jsontext.Decoder, a *AuthenticationInfo) error {
	var x struct {
		Scheme      string   `json:"scheme"`
		Schemes     []string `json:"schemes"` // 0.3
		Credentials string   `json:"credentials"`
	}
	if err := jsonv2.UnmarshalDecode(dec, &x); err != nil {
		return err
	}
	if x.Scheme == "" && len(x.Schemes) > 0 {
		x.Scheme = x.Schemes[0]
	}
	*a = AuthenticationInfo{Scheme: x.Scheme, Credentials: x.Credentials}
	return nil
}

// readConfigName reads the ids of a configuration: {taskId, id}, and {id, pushNotificationConfigId} in 0.3.
func readConfigName(dec *jsontext.Decoder, v Version, tenant, task, id *string) error {
	var x struct {
		Tenant   string `json:"tenant"`
		TaskID   string `json:"taskId"`
		ID       string `json:"id"`
		ConfigID string `json:"pushNotificationConfigId"`
	}
	if err := jsonv2.UnmarshalDecode(dec, &x); err != nil {
		return err
	}
	if v != V1 && x.TaskID == "" {
		x.TaskID, x.ID = x.ID, x.ConfigID
	}
	*tenant, *task, *id = x.Tenant, x.TaskID, x.ID
	return nil
}

type configsRequest ListTaskPushNotificationConfigsRequest

func readConfigList(dec *jsontext.Decoder, v Version, l *ListTaskPushNotificationConfigsRequest) error {
	var x struct {
		configsRequest
		ID string `json:"id"`
	}
	if err := jsonv2.UnmarshalDecode(dec, &x); err != nil {
		return err
	}
	*l = ListTaskPushNotificationConfigsRequest(x.configsRequest)
	if v != V1 && l.TaskID == "" {
		l.TaskID = x.ID
	}
	return nil
}

type configPage ListTaskPushNotificationConfigsResponse

// readConfigPage also takes a bare list, as 0.3 over JSON-RPC has it.
func readConfigPage(dec *jsontext.Decoder, l *ListTaskPushNotificationConfigsResponse) error {
	if dec.PeekKind() == '[' {
		*l = ListTaskPushNotificationConfigsResponse{}
		return jsonv2.UnmarshalDecode(dec, &l.Configs)
	}
	return jsonv2.UnmarshalDecode(dec, (*configPage)(l))
}
