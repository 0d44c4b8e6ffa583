package inspect

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apbridge/apbridge/mapping"
)

const (
	defaultRuns = 50  // on a page
	maxRuns     = 200 // the most that a module may request at once
)

// runFilter is the filter of a list of runs as sent by the form. All conditions must hold.
type runFilter struct {
	Agent    string `json:"agent,omitempty"`
	Status   string `json:"status,omitempty"`
	Owner    string `json:"key,omitempty"` // the id of a key
	Thread   string `json:"thread,omitempty"`
	Text     string `json:"text,omitempty"`
	Metadata string `json:"metadata,omitempty"`
	Since    string `json:"since,omitempty"`
	Until    string `json:"until,omitempty"`
	before   string
	limit    int
}

// statuses are all that a run can have.
var statuses = []mapping.RunStatus{
	mapping.RunPending, mapping.RunRunning, mapping.RunInterrupted, mapping.RunSuccess, mapping.RunError, mapping.RunTimeout,
}

type filterField struct {
	name string
	at   *string
}

// fields returns the fields by their names in an address, in the order of the form.
func (f *runFilter) fields() []filterField {
	return []filterField{
		{"text", &f.Text}, {"agent", &f.Agent}, {"status", &f.Status}, {"key", &f.Owner}, {"thread", &f.Thread}, {"metadata", &f.Metadata},
		{"since", &f.Since}, {"until", &f.Until}, {"before", &f.before},
	}
}

func readFilter(values url.Values) (runFilter, error) {
	f := runFilter{limit: defaultRuns}
	known := []string{"limit"}
	for _, one := range f.fields() {
		*one.at = strings.TrimSpace(values.Get(one.name))
		known = append(known, one.name)
	}
	if n, err := strconv.Atoi(values.Get("limit")); err == nil {
		f.limit = min(max(n, 1), maxRuns)
	}
	for name := range values {
		if meant := mapping.Misspelt(name, known); meant != "" && !slices.Contains(known, name) {
			return f, mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "Runs cannot be filtered by %q. Did you mean %q?", name, meant)
		}
	}
	return f, nil
}

// hasBlank reports whether a field is empty, as a form sends those that are not filled in.
func hasBlank(values url.Values) bool {
	for name := range values {
		if strings.TrimSpace(values.Get(name)) == "" {
			return true
		}
	}
	return false
}

// Any reports whether the filter has a condition.
func (f runFilter) Any() bool { return f != runFilter{before: f.before, limit: f.limit} }

// chip is a link that sets or removes one condition of the filter.
type chip struct {
	Name  string // "" for a condition that is its own name
	Value string
	Query string // of the list after a click
	On    bool
}

// maxAgentChips bounds the number of agents that are chips. All of them are in the form.
const maxAgentChips = 8

// StatusChips returns a link for each status, and first one for all.
func (l runsView) StatusChips() []chip {
	list := []chip{{Value: "all", Query: l.Filter.with("status", ""), On: l.Filter.Status == ""}}
	for _, status := range l.Statuses {
		list = append(list, chip{Value: string(status), Query: l.Filter.with("status", string(status)), On: l.Filter.Status == string(status)})
	}
	return list
}

// AgentChips returns a link for each agent if there are several, but not many.
func (l runsView) AgentChips() (list []chip) {
	if len(l.Agents) < 2 || len(l.Agents) > maxAgentChips {
		return nil
	}
	for _, name := range l.Agents {
		on := l.Filter.Agent == name
		query := l.Filter.with("agent", name)
		if on {
			query = l.Filter.with("agent", "")
		}
		list = append(list, chip{Value: name, Query: query, On: on})
	}
	return list
}

// Conditions returns a link that removes a condition, for each one without a chip of its own.
func (l runsView) Conditions() (list []chip) {
	for _, one := range l.Filter.fields() {
		own := one.name == "status" || one.name == "before" || one.name == "agent" && l.AgentChips() != nil
		if *one.at != "" && !own {
			list = append(list, chip{one.name, brief(*one.at), l.Filter.with(one.name, ""), true})
		}
	}
	return list
}

// with returns the query of the list from its beginning with another value of one field.
func (f runFilter) with(name, value string) string {
	for _, one := range f.fields() {
		if one.name == name {
			*one.at = value
		}
	}
	return f.address("")
}

// address returns the query of the same list from another position. "" is the beginning.
func (f runFilter) address(before string) string {
	f.before = before
	values := url.Values{}
	for _, one := range f.fields() {
		if *one.at != "" {
			values.Set(one.name, *one.at)
		}
	}
	if len(values) == 0 {
		return ""
	}
	return "?" + values.Encode()
}

// query requests one run more than the limit, which shows whether there is a next page.
func (f runFilter) query() (q mapping.RunQuery, err error) {
	q = mapping.RunQuery{Agent: f.Agent, ThreadID: f.Thread, Owner: f.Owner, Text: f.Text, Limit: f.limit + 1}
	if f.Status != "" {
		if !slices.Contains(statuses, mapping.RunStatus(f.Status)) {
			return q, mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "No run has the status %q. It is one of %s.", f.Status, join(statuses))
		}
		q.Status = []mapping.RunStatus{mapping.RunStatus(f.Status)}
	}
	if f.Metadata != "" {
		var object map[string]json.RawMessage
		if json.Unmarshal([]byte(f.Metadata), &object) != nil || object == nil {
			return q, mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, `The metadata must be a JSON object, such as {"user":"ann"}.`)
		}
		q.Metadata = json.RawMessage(f.Metadata)
	}
	if q.Since, err = parseTime(f.Since); err != nil {
		return q, err
	}
	if q.Until, err = parseTime(f.Until); err != nil {
		return q, err
	}
	q.Before, err = readMark(f.before)
	return q, err
}

func join(list []mapping.RunStatus) string {
	words := make([]string, len(list))
	for i, s := range list {
		words[i] = string(s)
	}
	return strings.Join(words, ", ")
}

// parseTime reads the time of a form or a program. A form sends no zone and means UTC.
func parseTime(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "%q is not a time. Write one like 2026-01-02T15:04:05, in UTC.", text)
}

// SinceField returns the value of the form's field in UTC, without a zone, in whole seconds.
func (f runFilter) SinceField() string { return timeField(f.Since, 0) }

// UntilField is like SinceField but rounds up.
func (f runFilter) UntilField() string { return timeField(f.Until, time.Second-1) }

func timeField(text string, later time.Duration) string {
	t, err := parseTime(text)
	if err != nil || t.IsZero() {
		return ""
	}
	return t.UTC().Add(later).Format("2006-01-02T15:04:05")
}

// markOfRun returns the position of a run in the list.
func markOfRun(r mapping.Run) string {
	return strconv.FormatInt(r.CreatedAt.UnixMicro(), 36) + "." + r.ID
}

func readMark(text string) (mapping.RunMark, error) {
	if text == "" {
		return mapping.RunMark{}, nil
	}
	at, id, _ := strings.Cut(text, ".")
	us, err := strconv.ParseInt(at, 36, 64)
	if err != nil || id == "" {
		return mapping.RunMark{}, mapping.Errorf(mapping.Malformed, mapping.CodeInvalidCursor, "The position in the list cannot be read. Start again with the newest runs.")
	}
	return mapping.RunMark{RunID: id, CreatedAt: time.UnixMicro(us)}, nil
}
