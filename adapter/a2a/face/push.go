package face

import (
	"strings"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/a2a/wire"
	"github.com/apbridge/apbridge/adapter/body"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/state"
)

// A push configuration is a hook of its task, which is notified of each change of its status.

// The headers with the token of a configuration: the second one is that of a2a-go.
var tokenHeaders = []string{"X-A2A-Notification-Token", "A2A-Notification-Token"}

// hookOf returns the hook of a configuration.
func hookOf(v wire.Version, p *wire.TaskPushNotificationConfig) mapping.Hook {
	h := mapping.Hook{ID: p.ID, Flavour: flavourOf(v), URL: p.URL, Token: p.Token, Fires: mapping.TaskStatuses()}
	if p.Authentication != nil {
		h.Scheme, h.Credentials = p.Authentication.Scheme, p.Authentication.Credentials
	}
	return h
}

// configOf returns a configuration without its secrets, which are never shown again.
func configOf(taskID string, h *mapping.Hook) wire.TaskPushNotificationConfig {
	p := wire.TaskPushNotificationConfig{ID: h.ID, TaskID: taskID, URL: h.URL}
	if h.Scheme != "" {
		p.Authentication = &wire.AuthenticationInfo{Scheme: h.Scheme}
	}
	return p
}

// badHook converts an error of the service about a hook to one about the configuration in the request.
func badHook(c *call, err error) error {
	e := mapping.Classify(err)
	at, _ := e.Detail.(map[string]any)
	field, _ := at["field"].(string)
	member, ok := strings.CutPrefix(field, "hook.")
	if !ok {
		return err
	}
	if member == "scheme" || member == "credentials" {
		member = "authentication." + member
	}
	why := strings.TrimSuffix(strings.TrimPrefix(e.Message, field+": "), ".")
	return invalidParams(wire.PushField(c.version, c.method != wire.MethodCreatePushConfig, member), "%s", why)
}

func (s *server) createPushConfig(c *call) (any, error) {
	var q wire.TaskPushNotificationConfig
	t, err := s.requestedTask(c, &q, &q.Tenant, &q.TaskID)
	if err != nil {
		return nil, err
	}
	h, err := s.svc.CreateHook(c.r.Context(), c.ref(t.ID), hookOf(c.version, &q))
	if err != nil {
		return nil, badHook(c, err)
	}
	return configOf(t.ID, &h), nil
}

func (s *server) getPushConfig(c *call) (any, error) {
	var q wire.GetTaskPushNotificationConfigRequest
	list, err := s.hooks(c, &q, &q.Tenant, &q.TaskID)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if list[i].ID == q.ID || q.ID == "" { // 0.3 may leave it out
			return configOf(q.TaskID, &list[i]), nil
		}
	}
	return nil, &wire.Error{
		Code: wire.CodeTaskNotFound, Message: "The task has no push notification configuration with this id.",
		Metadata: map[string]string{"taskId": q.TaskID, "configId": mapping.ToText(q.ID)},
	}
}

// hooks decodes parameters as requestedTask does and returns the push configurations of the task.
func (s *server) hooks(c *call, into any, tenant, id *string) ([]mapping.Hook, error) {
	t, err := s.requestedTask(c, into, tenant, id)
	if err != nil {
		return nil, err
	}
	return s.svc.ListHooks(c.r.Context(), c.ref(t.ID))
}

func (s *server) listPushConfigs(c *call) (any, error) {
	var q wire.ListTaskPushNotificationConfigsRequest
	list, err := s.hooks(c, &q, &q.Tenant, &q.TaskID)
	if err != nil {
		return nil, err
	}
	out := wire.ListTaskPushNotificationConfigsResponse{Configs: []wire.TaskPushNotificationConfig{}} // they fit into one page
	for i := range list {
		out.Configs = append(out.Configs, configOf(q.TaskID, &list[i]))
	}
	return out, nil
}

func (s *server) deletePushConfig(c *call) (any, error) {
	var q wire.DeleteTaskPushNotificationConfigRequest
	t, err := s.requestedTask(c, &q, &q.Tenant, &q.TaskID)
	if err != nil {
		return nil, err
	}
	return wire.Empty{}, s.svc.DeleteHook(c.r.Context(), c.ref(t.ID), q.ID)
}

// Hook returns the request that notifies a push configuration of a status: an update in 1.0, the task with its answer
// at the end of the task and in 0.3.
func Hook(n adapter.HookNotice) (adapter.HookPost, error) {
	v, version, kind := hookView(&n), wire.V1, wire.MediaType
	if n.Hook.Flavour == FlavourV03 {
		version, kind = wire.V03, body.TypeJSON
	}
	var payload any = wire.StreamResponse{StatusUpdate: &wire.TaskStatusUpdateEvent{TaskID: v.taskID, ContextID: v.contextID, Status: v.status}}
	switch {
	case version == wire.V03:
		payload = *hookTask(v)
	case n.Status.Ended():
		payload = wire.StreamResponse{Task: hookTask(v)}
	}
	raw, err := wire.Append(nil, version, payload)
	post := adapter.HookPost{Body: raw, Header: map[string]string{"Content-Type": kind, wire.VersionHeader: version.String()}}
	if n.Hook.Token != "" {
		for _, name := range tokenHeaders {
			post.Header[name] = n.Hook.Token
		}
	}
	if n.Hook.Scheme != "" {
		post.Header["Authorization"] = n.Hook.Scheme + " " + n.Hook.Credentials
	}
	return post, err
}

// hookView returns a view of the task of a notice.
func hookView(n *adapter.HookNotice) *view {
	v := newView(n.Run.TaskID, n.Run.ThreadID, maxFiles)
	if n.Hook.ThreadName != "" {
		v.contextID = n.Hook.ThreadName
	}
	at := n.Run.EndedAt
	for _, other := range []time.Time{n.Run.StartedAt, n.Run.CreatedAt} {
		if at.IsZero() {
			at = other
		}
	}
	v.status = wire.TaskStatus{State: states[n.Status], Timestamp: at}
	v.asked = n.Outcome.Interrupts
	switch v.status.State {
	case wire.StateInputRequired:
		v.status.Message = v.question(n.Run.ID, n.Outcome.Interrupts)
	case wire.StateFailed, wire.StateRejected:
		v.status.Message = v.fault(n.Run.ID, n.Outcome.Fault)
	}
	// If an agent with a state fails after an answer, its last message may be the question.
	failed := n.Status.Ended() && n.Status != mapping.TaskDone
	if failed && rawjson.Get(n.Run.Kwargs, answerMember) != nil {
		return v
	}
	if f, err := state.NewFold(n.Values); err == nil && len(n.Values) > 0 {
		v.after = f
	}
	return v
}

// hookTask returns the task of a notice with the answer, but without a history: the notice does not have the state before
// the task. The answer is the last message after the last one of a person.
func hookTask(v *view) *wire.Task {
	return &wire.Task{ID: v.taskID, ContextID: v.contextID, Status: v.status, Artifacts: v.hookAnswer()}
}

func (v *view) hookAnswer() []wire.Artifact {
	m := v.newest()
	if m == nil {
		return nil
	}
	parts := v.partsOf(m)
	if len(parts) == 0 {
		return nil
	}
	return []wire.Artifact{{ArtifactID: v.answerID(), Name: answerName, Parts: parts}}
}
