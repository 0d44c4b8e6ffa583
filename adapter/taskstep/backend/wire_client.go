package backend

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

// This file reads what real v1 servers answer. It is lenient where they are loose: ids as numbers, output as an object,
// absent fields, nulls. What the bridge cannot do without is refused with the path of the field.

// remoteTask is a task as the agent tells it (Agent Protocol v1, schema Task).
type remoteTask struct {
	ID         string
	Additional json.RawMessage // additional_input; nil when the key is absent
	Artifacts  []remoteArtifact
	Kind       kind // what the shape gives away about the server; "" when nothing
}

// remoteStep is a step as the agent tells it (schema Step).
type remoteStep struct {
	ID, TaskID string
	Name       string
	Status     string // verbatim, "" when absent
	Output     json.RawMessage
	Additional json.RawMessage // additional_output as an object, or nil
	IsLast     bool
	Artifacts  []remoteArtifact
	Told       bool    // artifacts was a list, even an empty one
	input      *string // what we drove it with
}

// hasOutput reports whether the step says anything.
func (s *remoteStep) hasOutput() bool { return len(s.Output) > 0 }

// remoteArtifact is a file as the agent tells it (schema Artifact).
type remoteArtifact struct {
	ID       string
	Name     string
	Relative string
	Modified string  // modified_at, verbatim: tells two versions of one id apart
	ByAgent  *bool   // agent_created; nil when absent
	Content  *string // some servers hand the text over inline and have no ids
	Listed   bool    // from the task's list, not from a step
}

type taskEnvelope struct{ ID, Additional, Artifacts, Steps, Created json.RawMessage }

// member is where a member of the answer belongs; nil: it is not read.
func (e *taskEnvelope) member(name string) *json.RawMessage {
	switch name {
	case "task_id":
		return &e.ID
	case "additional_input":
		return &e.Additional
	case "artifacts":
		return &e.Artifacts
	case "steps":
		return &e.Steps
	case "created_at":
		return &e.Created
	}
	return nil
}

type stepEnvelope struct{ ID, TaskID, Name, Status, Output, Additional, Artifacts, IsLast json.RawMessage }

func (e *stepEnvelope) member(name string) *json.RawMessage {
	switch name {
	case "step_id":
		return &e.ID
	case "task_id":
		return &e.TaskID
	case "name":
		return &e.Name
	case "status":
		return &e.Status
	case "output":
		return &e.Output
	case "additional_output":
		return &e.Additional
	case "artifacts":
		return &e.Artifacts
	case "is_last":
		return &e.IsLast
	}
	return nil
}

type artifactEnvelope struct {
	ID       json.RawMessage `json:"artifact_id"`
	FileName json.RawMessage `json:"file_name"`
	Name     json.RawMessage `json:"name"`
	Relative json.RawMessage `json:"relative_path"`
	URI      json.RawMessage `json:"uri"`
	Modified json.RawMessage `json:"modified_at"`
	ByAgent  json.RawMessage `json:"agent_created"`
	Content  json.RawMessage `json:"content"`
}

// fieldError says which field of an answer cannot be read.
type fieldError struct{ path, problem string }

func (e *fieldError) Error() string { return e.path + " " + e.problem }

// parseTask reads a task; path names the place it stands at in the answer.
func parseTask(raw json.RawMessage, path string) (remoteTask, error) {
	var env taskEnvelope
	if err := members(raw, path, env.member); err != nil {
		return remoteTask{}, err
	}
	id, err := requiredText(env.ID, path+"task_id")
	if err != nil {
		return remoteTask{}, err
	}
	t := remoteTask{ID: id, Additional: env.Additional, Kind: kindOfTask(env)}
	t.Artifacts, err = parseArtifacts(env.Artifacts, path+"artifacts")
	return t, err
}

// kindOfTask knows servers by what only they put into a task: the Python SDK its steps, forge times without a zone.
func kindOfTask(env taskEnvelope) kind {
	if isList(env.Steps) {
		return kindPython
	}
	created, err := text(env.Created, "")
	if err != nil || created == "" {
		return ""
	}
	if _, err := time.Parse("2006-01-02T15:04:05", created); err == nil {
		return kindForge
	}
	return ""
}

func parseStep(raw json.RawMessage, path string) (*remoteStep, error) {
	var env stepEnvelope
	if err := members(raw, path, env.member); err != nil {
		return nil, err
	}
	s := &remoteStep{Output: value(env.Output), Additional: asObject(env.Additional), Told: isList(env.Artifacts)}
	var err error
	if s.ID, err = requiredText(env.ID, path+"step_id"); err != nil {
		return s, err
	}
	if s.TaskID, err = text(env.TaskID, path+"task_id"); err != nil {
		return s, err
	}
	if s.IsLast, err = truth(env.IsLast, path+"is_last"); err != nil {
		return s, err
	}
	s.Name, _ = text(env.Name, "")
	s.Status, _ = text(env.Status, "")
	s.Artifacts, err = parseArtifacts(env.Artifacts, path+"artifacts")
	return s, err
}

// parseArtifacts reads a list of objects, of ids, or a mix. What is no list counts as none: an agent's word about files
// is worth less than its step.
func parseArtifacts(raw json.RawMessage, path string) ([]remoteArtifact, error) {
	if !isList(raw) || string(raw) == "[]" {
		return nil, nil
	}
	var elems []json.RawMessage
	if err := json.Unmarshal(raw, &elems); err != nil {
		return nil, &fieldError{path, "is not a list"}
	}
	return artifactsOf(elems, path)
}

func artifactsOf(elems []json.RawMessage, path string) ([]remoteArtifact, error) {
	list := make([]remoteArtifact, 0, len(elems))
	for i, elem := range elems {
		a, err := parseArtifact(elem, fmt.Sprintf("%s[%d]", path, i))
		if err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return list, nil
}

func parseArtifact(raw json.RawMessage, path string) (remoteArtifact, error) {
	if rawjson.Kind(raw) != '{' {
		id, err := requiredText(raw, path)
		return remoteArtifact{ID: id}, err
	}
	var env artifactEnvelope
	if err := object(raw, path, &env); err != nil {
		return remoteArtifact{}, err
	}
	id, err := text(env.ID, path+".artifact_id")
	if err != nil {
		return remoteArtifact{}, err
	}
	a := remoteArtifact{ID: id}
	a.Name, a.Relative = either(env.FileName, env.Name), either(env.Relative, env.URI)
	a.Modified, _ = text(env.Modified, "")
	if by, err := truth(env.ByAgent, ""); err == nil && len(value(env.ByAgent)) > 0 {
		a.ByAgent = &by
	}
	if rawjson.Kind(env.Content) == '"' {
		content, _ := text(env.Content, "")
		a.Content = &content
	}
	return a, nil
}

// members puts an object's members where they belong, as parts of raw: what object does, without reflection, for what
// every step is read with.
func members(raw json.RawMessage, path string, place func(name string) *json.RawMessage) error {
	if rawjson.Kind(raw) != '{' {
		return &fieldError{placeOf(path), "is not an object"}
	}
	err := rawjson.EachMember(raw, func(name rawjson.Quoted, value json.RawMessage) {
		if at := place(name.Text()); at != nil {
			*at = value
		}
	})
	if err != nil {
		return &fieldError{placeOf(path), "cannot be read: " + err.Error()}
	}
	return nil
}

// object decodes an object; anything else is a fieldError at path.
func object(raw json.RawMessage, path string, into any) error {
	if rawjson.Kind(raw) != '{' {
		return &fieldError{placeOf(path), "is not an object"}
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return &fieldError{placeOf(path), "cannot be read: " + err.Error()}
	}
	return nil
}

func placeOf(path string) string {
	if path = strings.TrimSuffix(path, "."); path == "" {
		return "the answer"
	}
	return path
}

// text reads a string; a number stands for its digits, null and absent for "".
func text(raw json.RawMessage, path string) (string, error) {
	raw = value(raw)
	switch c := rawjson.Kind(raw); {
	case c == 0:
		return "", nil
	case c == '"':
		return unquote(raw, path)
	case c == '-' || c >= '0' && c <= '9':
		return string(raw), nil
	}
	return "", &fieldError{path, "is neither a string nor a number"}
}

func unquote(raw json.RawMessage, path string) (string, error) {
	if bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return string(raw[1 : len(raw)-1]), nil
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", &fieldError{path, "is not a string"}
	}
	return s, nil
}

func requiredText(raw json.RawMessage, path string) (string, error) {
	s, err := text(raw, path)
	if err == nil && s == "" {
		err = &fieldError{path, "is missing"}
	}
	return s, err
}

// either is the first of two fields that is a text and not empty.
func either(a, b json.RawMessage) string {
	if s, err := text(a, ""); err == nil && s != "" {
		return s
	}
	s, _ := text(b, "")
	return s
}

// truth reads a boolean; null and absent are false, "true" and 1 are true.
func truth(raw json.RawMessage, path string) (bool, error) {
	s := string(value(raw))
	if s == "" {
		return false, nil
	}
	if b, err := strconv.ParseBool(strings.ToLower(strings.Trim(s, `"`))); err == nil {
		return b, nil
	}
	return false, &fieldError{path, "is not a boolean"}
}

// asObject keeps an object and wraps anything else, since additional_output is an object to all readers behind us.
func asObject(raw json.RawMessage) json.RawMessage {
	raw = value(raw)
	if len(raw) == 0 || rawjson.Kind(raw) == '{' {
		return raw
	}
	return new(rawjson.Writer).Open('{').Key("additional_output").Raw(raw, "null").Close('}').Bytes
}

// value is raw without blanks around it; nil for null and absent.
func value(raw json.RawMessage) json.RawMessage {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	return raw
}

func isList(raw json.RawMessage) bool { return rawjson.Kind(raw) == '[' }
