package wire

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

// legacyPrefix begins the HTTP+JSON paths of 0.3.
const legacyPrefix = "/v1"

// The paths of the extended card, in 1.0 and without the prefix in 0.3.
const (
	cardPath       = "/extendedAgentCard"
	legacyCardPath = "/card"
)

// LegacyPath returns the HTTP+JSON path of 0.3 for a path or template of 1.0.
func LegacyPath(path string) string {
	if path == cardPath {
		path = legacyCardPath
	}
	return legacyPrefix + path
}

// Target is the meaning of the method and path of an HTTP+JSON request.
type Target struct {
	Method   Method
	Version  Version // V1 or V03HTTP; the version of the path even if there is no such path
	TaskID   string  // decoded; may have slashes and colons
	ConfigID string
}

// Match reads the path of an HTTP+JSON request below the URL of the interface (S 5.3, 11.3, V3). path is escaped, as
// url.URL.EscapedPath returns it: an action such as ":cancel" counts only if its colon is not escaped. found is false
// for unknown paths. If allow is not empty, the path exists for these methods only.
func Match(method, path string) (t Target, allow string, found bool) {
	t.Version = V1
	rest, ok := strings.CutPrefix(path, legacyPrefix+"/")
	if ok {
		t.Version = V03HTTP
	} else if rest, ok = strings.CutPrefix(path, "/"); !ok {
		return t, "", false
	}
	methods := t.match(strings.Split(rest, "/"))
	if methods == nil {
		return Target{Version: t.Version}, "", false
	}
	if method == http.MethodHead && methods[http.MethodGet] != "" && !methods[http.MethodGet].Streams() {
		method = http.MethodGet
	}
	if t.Method, ok = methods[method]; ok {
		return t, "", true
	}
	var allowed []string
	for _, m := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
		if methods[m] != "" {
			allowed = append(allowed, m)
		}
	}
	return Target{Version: t.Version}, strings.Join(allowed, ", "), false
}

// match sets the ids of a path and returns its methods; nil if there is no such path.
func (t *Target) match(segments []string) map[string]Method {
	card := cardPath
	if t.Version != V1 {
		card = legacyCardPath
	}
	switch n := len(segments); {
	case n == 1:
		switch segments[0] {
		case "message:send":
			return map[string]Method{http.MethodPost: MethodSendMessage}
		case "message:stream":
			return map[string]Method{http.MethodPost: MethodSendStreamingMessage}
		case "tasks":
			return map[string]Method{http.MethodGet: MethodListTasks}
		case card[1:]:
			return map[string]Method{http.MethodGet: MethodGetExtendedAgentCard}
		}
		return nil
	case segments[0] != "tasks" || n > 4 || n > 2 && segments[2] != "pushNotificationConfigs":
		return nil
	case n == 2:
		if id, ok := strings.CutSuffix(segments[1], ":cancel"); ok && unescape(id, &t.TaskID) {
			return map[string]Method{http.MethodPost: MethodCancelTask}
		}
		// GET in a2a.proto, POST in S 11.3.2 and the SDKs.
		if id, ok := strings.CutSuffix(segments[1], ":subscribe"); ok && unescape(id, &t.TaskID) {
			return map[string]Method{http.MethodGet: MethodSubscribeToTask, http.MethodPost: MethodSubscribeToTask}
		}
	}
	if !unescape(segments[1], &t.TaskID) {
		return nil
	}
	switch len(segments) {
	case 2:
		return map[string]Method{http.MethodGet: MethodGetTask}
	case 3:
		return map[string]Method{http.MethodGet: MethodListPushConfigs, http.MethodPost: MethodCreatePushConfig}
	}
	if !unescape(segments[3], &t.ConfigID) {
		return nil
	}
	return map[string]Method{http.MethodGet: MethodGetPushConfig, http.MethodDelete: MethodDeletePushConfig}
}

// unescape decodes a segment. It returns false if the segment is empty or badly escaped.
func unescape(segment string, into *string) bool {
	s, err := url.PathUnescape(segment)
	if err != nil || s == "" {
		return false
	}
	*into = s
	return true
}

// Path returns the HTTP method and the escaped path of an operation, to be appended to the URL of the interface.
// Subscriptions are POST in 1.0 and GET in 0.3, as the official servers of each version expect.
func Path(v Version, m Method, taskID, configID string) (method, path string) {
	task := "/tasks/" + escape(taskID)
	configs := task + "/pushNotificationConfigs"
	method = http.MethodGet
	switch m {
	case MethodSendMessage:
		method, path = http.MethodPost, "/message:send"
	case MethodSendStreamingMessage:
		method, path = http.MethodPost, "/message:stream"
	case MethodGetTask:
		path = task
	case MethodListTasks:
		path = "/tasks"
	case MethodCancelTask:
		method, path = http.MethodPost, task+":cancel"
	case MethodSubscribeToTask:
		if path = task + ":subscribe"; v == V1 {
			method = http.MethodPost
		}
	case MethodCreatePushConfig:
		method, path = http.MethodPost, configs
	case MethodGetPushConfig:
		path = configs + "/" + escape(configID)
	case MethodListPushConfigs:
		path = configs
	case MethodDeletePushConfig:
		method, path = http.MethodDelete, configs+"/"+escape(configID)
	case MethodGetExtendedAgentCard:
		path = cardPath
	}
	if v != V1 {
		path = LegacyPath(path)
	}
	return method, path
}

// escape encodes an id as one segment of a path. Colons would begin an action, and "." and ".." would be resolved.
func escape(id string) string {
	s := strings.ReplaceAll(url.PathEscape(id), ":", "%3A")
	if s == "." || s == ".." {
		s = strings.ReplaceAll(s, ".", "%2E")
	}
	return s
}

// Query returns the query parameters of a GetTaskRequest, ListTasksRequest, ListTaskPushNotificationConfigsRequest or
// any other request without a body (S 11.5). Ids that stand in the path are left out.
func Query(request any) url.Values {
	q := url.Values{}
	text := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	number := func(name string, n *int) {
		if n != nil {
			q.Set(name, strconv.Itoa(*n))
		}
	}
	switch r := request.(type) {
	case *GetTaskRequest:
		text("tenant", r.Tenant)
		number("historyLength", r.HistoryLength)
	case *ListTasksRequest:
		text("tenant", r.Tenant)
		text("contextId", r.ContextID)
		text("status", string(r.Status))
		number("pageSize", r.PageSize)
		text("pageToken", r.PageToken)
		number("historyLength", r.HistoryLength)
		if !r.StatusTimestampAfter.IsZero() {
			q.Set("statusTimestampAfter", formatTime(r.StatusTimestampAfter))
		}
		if r.IncludeArtifacts {
			q.Set("includeArtifacts", "true")
		}
	case *ListTaskPushNotificationConfigsRequest:
		text("tenant", r.Tenant)
		number("pageSize", r.PageSize)
		text("pageToken", r.PageToken)
	case *SubscribeToTaskRequest:
		text("tenant", r.Tenant)
	case *GetTaskPushNotificationConfigRequest:
		text("tenant", r.Tenant)
	case *DeleteTaskPushNotificationConfigRequest:
		text("tenant", r.Tenant)
	case *GetExtendedAgentCardRequest:
		text("tenant", r.Tenant)
	}
	return q
}

// ReadQuery reads what Query writes, and the ids of t, into a request of t.Method. Names may be in snake_case, and
// unknown ones are ignored. An error is an *Error of CodeInvalidParams.
func (r *Reader) ReadQuery(t Target, q url.Values, into any) error {
	x := query{values: q}
	switch req := into.(type) {
	case *GetTaskRequest:
		*req = GetTaskRequest{Tenant: x.text("tenant"), ID: t.TaskID, HistoryLength: x.number("historyLength")}
	case *ListTasksRequest:
		*req = ListTasksRequest{
			Tenant: x.text("tenant"), ContextID: x.text("contextId"), Status: x.state("status"), PageSize: x.number("pageSize"),
			PageToken: x.text("pageToken"), HistoryLength: x.number("historyLength"), IncludeArtifacts: x.flag("includeArtifacts"),
		}
		after := "statusTimestampAfter"
		if t.Version != V1 && x.text(after) == "" {
			after = "lastUpdatedAfter" // 0.3
		}
		if s := x.text(after); s != "" {
			// A "+" that was not escaped has become a space.
			at, ok := parseTime(strings.ReplaceAll(s, " ", "+"))
			if !ok {
				at, ok = parseTime(s)
			}
			x.require(after, ok, "must be a time such as 2026-11-28T10:30:00.000Z")
			req.StatusTimestampAfter = at
		}
	case *ListTaskPushNotificationConfigsRequest:
		*req = ListTaskPushNotificationConfigsRequest{Tenant: x.text("tenant"), TaskID: t.TaskID, PageSize: x.number("pageSize"), PageToken: x.text("pageToken")}
	case *SubscribeToTaskRequest:
		*req = SubscribeToTaskRequest{Tenant: x.text("tenant"), ID: t.TaskID}
	case *GetTaskPushNotificationConfigRequest:
		*req = GetTaskPushNotificationConfigRequest{Tenant: x.text("tenant"), TaskID: t.TaskID, ID: t.ConfigID}
	case *DeleteTaskPushNotificationConfigRequest:
		*req = DeleteTaskPushNotificationConfigRequest{Tenant: x.text("tenant"), TaskID: t.TaskID, ID: t.ConfigID}
	case *GetExtendedAgentCardRequest:
		*req = GetExtendedAgentCardRequest{Tenant: x.text("tenant")}
	}
	if x.err != nil {
		return x.err
	}
	return r.verify(t.Version, into)
}

// Body reads the body of an HTTP+JSON request of t.Method and adds the ids of t. An id in the body must be the same.
// CancelTask and SubscribeToTask may have no body. Errors are those of Read, or of CodeParse if the body is not JSON.
func (r *Reader) Body(t Target, raw []byte, into any) error {
	if len(rawjson.Trim(raw)) > 0 && !rawjson.IsNull(rawjson.Trim(raw)) {
		if err := r.decode(t.Version, raw, into); err != nil {
			if e := (*Error)(nil); errors.As(err, &e) && !rawjson.Valid(raw) {
				e.Code = CodeParse
			}
			return err
		}
	}
	var id *string
	name := "id"
	switch req := into.(type) {
	case *CancelTaskRequest:
		id = &req.ID
	case *SubscribeToTaskRequest:
		id = &req.ID
	case *TaskPushNotificationConfig:
		id, name = &req.TaskID, "taskId"
	}
	if id != nil {
		if *id != "" && *id != t.TaskID {
			return invalidAt(name, "must be the id in the path or absent")
		}
		*id = t.TaskID
	}
	return r.verify(t.Version, into)
}

// query reads query parameters and keeps the first error.
type query struct {
	values url.Values
	err    error
}

func (x *query) text(name string) string {
	if values, ok := x.values[name]; ok && len(values) > 0 {
		return values[0]
	}
	var snake strings.Builder
	for _, c := range name {
		if c >= 'A' && c <= 'Z' {
			snake.WriteByte('_')
			c += 'a' - 'A'
		}
		snake.WriteRune(c)
	}
	return x.values.Get(snake.String())
}

func (x *query) require(name string, ok bool, problem string) {
	if !ok && x.err == nil {
		x.err = invalidAt(name, problem)
	}
}

func (x *query) number(name string) *int {
	s := x.text(name)
	if s == "" {
		return nil
	}
	n, ok := parseInt(s)
	x.require(name, ok, "must be an integer of 32 bits")
	return &n
}

func (x *query) flag(name string) bool {
	s := x.text(name)
	x.require(name, s == "" || s == "true" || s == "false", "must be true or false")
	return s == "true"
}

func (x *query) state(name string) TaskState {
	s := x.text(name)
	state, ok := states[s]
	x.require(name, s == "" || ok, "must be a task state such as "+string(StateWorking))
	return state
}
