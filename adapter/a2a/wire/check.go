package wire

import (
	"fmt"
	"net/url"
	"strings"
	"unicode"
)

// maxPage is the largest page of ListTasks (S 3.1.4).
const maxPage = 100

// A checker is a request that a strict Reader checks. check returns the first member that is missing or wrong, and why.
type checker interface {
	check(v Version) (at, problem string)
}

const missing = "must be present and not empty"

// PushField returns the place of a member of a push configuration, such as "url", in a request that sends or creates it.
func PushField(v Version, sent bool, member string) string {
	switch {
	case v == V1 && sent:
		return "configuration.taskPushNotificationConfig." + member
	case v == V1:
		return member
	case member == "authentication.scheme":
		member = "authentication.schemes"
	}
	switch {
	case v == V03HTTP && sent:
		return "configuration.pushNotification." + member
	case sent:
		return "configuration.pushNotificationConfig." + member
	}
	return "pushNotificationConfig." + member
}

func (s *SendMessageRequest) check(v Version) (string, string) {
	if s.Message == nil {
		return "message", "must be present"
	}
	if at, problem := s.Message.check(v); problem != "" {
		return "message." + at, problem
	}
	c := s.Configuration
	if c == nil {
		return "", ""
	}
	if at, problem := checkHistory(c.HistoryLength); problem != "" {
		return "configuration." + at, problem
	}
	if p := c.TaskPushNotificationConfig; p != nil {
		if at, problem := p.checkContent(); problem != "" {
			return PushField(v, true, at), problem
		}
	}
	return "", ""
}

// PartsField returns the name of the parts in a message.
func PartsField(v Version) string {
	if v == V03HTTP {
		return "content"
	}
	return "parts"
}

func (m *Message) check(v Version) (string, string) {
	switch {
	case m.MessageID == "":
		return "messageId", missing
	case m.Role == "":
		return "role", "must be " + string(RoleUser) + " or " + string(RoleAgent)
	case len(m.Parts) == 0:
		return PartsField(v), "must have at least one part"
	}
	return "", ""
}

func (g *GetTaskRequest) check(Version) (string, string) {
	if g.ID == "" {
		return "id", missing
	}
	return checkHistory(g.HistoryLength)
}

func (l *ListTasksRequest) check(Version) (string, string) {
	if n := l.PageSize; n != nil && (*n < 1 || *n > maxPage) {
		return "pageSize", fmt.Sprintf("must be from 1 to %d", maxPage)
	}
	return checkHistory(l.HistoryLength)
}

func (c *CancelTaskRequest) check(Version) (string, string) {
	return require("id", c.ID)
}

func (s *SubscribeToTaskRequest) check(Version) (string, string) {
	return require("id", s.ID)
}

func (c *TaskPushNotificationConfig) check(v Version) (string, string) {
	if at, problem := require("taskId", c.TaskID); problem != "" {
		return at, problem
	}
	at, problem := c.checkContent()
	if problem != "" {
		at = PushField(v, false, at)
	}
	return at, problem
}

// checkContent checks only the form; whether the bridge may call the URL is not decided here.
func (c *TaskPushNotificationConfig) checkContent() (string, string) {
	if !isSegment(c.ID) {
		return "id", "must have no slash, backslash, control character or percent-encoding, and must not be . or .., because it is part of a path"
	}
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" || !strings.EqualFold(u.Scheme, "http") && !strings.EqualFold(u.Scheme, "https") {
		return "url", "must be an absolute HTTP or HTTPS URL"
	}
	if a := c.Authentication; a != nil && a.Scheme == "" {
		return "authentication.scheme", missing
	}
	return "", ""
}

func (g *GetTaskPushNotificationConfigRequest) check(v Version) (string, string) {
	if v != V1 {
		return require("id", g.TaskID) // 0.3's name; the configuration's is optional
	}
	if g.TaskID == "" {
		return "taskId", missing
	}
	return require("id", g.ID)
}

func (d *DeleteTaskPushNotificationConfigRequest) check(v Version) (string, string) {
	task, id := "taskId", "id"
	if v != V1 {
		task, id = "id", "pushNotificationConfigId"
	}
	if d.TaskID == "" {
		return task, missing
	}
	return require(id, d.ID)
}

func (l *ListTaskPushNotificationConfigsRequest) check(v Version) (string, string) {
	if v != V1 {
		return require("id", l.TaskID)
	}
	if n := l.PageSize; n != nil && *n < 0 {
		return "pageSize", "must not be negative"
	}
	return require("taskId", l.TaskID)
}

// isSegment reports whether an id can be a segment of a path. Encoded slashes and the like are often refused, also by the
// bridge. In 0.3, a slash would make the name of a configuration ambiguous.
func isSegment(id string) bool {
	decoded, err := url.PathUnescape(id)
	return id != "." && id != ".." && !strings.ContainsAny(id, `/\`) && !strings.ContainsFunc(id, unicode.IsControl) && (err != nil || decoded == id)
}

func require(name, value string) (string, string) {
	if value == "" {
		return name, missing
	}
	return "", ""
}

func checkHistory(n *int) (string, string) {
	if n != nil && *n < 0 {
		return "historyLength", "must not be negative"
	}
	return "", ""
}
