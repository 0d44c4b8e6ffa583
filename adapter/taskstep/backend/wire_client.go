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

// This file reads the responses of real v1 servers. It accepts ids that are numbers, outputs that are objects, absent
// fields and nulls. Missing required fields are refused with their path.

// remoteTask is a task of the agent (Agent Protocol v1, schema Task).
type remoteTask struct {
	ID         string
	Additional json.RawMessage // additional_input; nil when the key is absent
	Artifacts  []remoteArtifact
	Kind       kind // of the server, as far as the task shows it
}

// remoteStep is a step of the agent (schema Step).
type remoteStep struct {
	ID, TaskID string
	Name       string
	Status     string // verbatim, "" when absent
	Output     json.RawMessage
	Additional json.RawMessage // additional_output as an object, or nil
	IsLast     bool
	Artifacts  []remoteArtifact
	Told       bool    // artifacts was a list, even an empty one
	input      *string // input of the request
}

// hasOutput reports whether the step has output.
func (s *remoteStep) hasOutput() bool { return len(s.Output) > 0 }

// remoteArtifact is a file of the agent (schema Artifact).
type remoteArtifact struct {
	ID       string
	Name     string
	Relative string
	Modified string  // modified_at verbatim; distinguishes versions of one id
	ByAgent  *bool   // agent_created; nil when absent
	Content  *string // some servers send the text inline and have no ids
	Listed   bool    // from the task's list, not from a step
}

type taskEnvelope struct{ ID, Additional, Artifacts, Steps, Created json.RawMessage }

// member returns the destination of a member, or nil if it is ignored.
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

// fieldError names a field of a response that cannot be read.
type fieldError struct{ path, problem string }

func (e *fieldError) Error() string { return e.path + " " + e.problem }

// parseTask reads a task. path is its place in the response.
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

// kindOfTask recognises a server by its tasks. Only the Python SDK sends steps in a task, and only forge sends times
// without a zone.
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

// parseArtifacts reads a list of objects, ids, or both. Anything else counts as an empty list, because the step matters
// more than the agent's report of files.
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

// members copies an object's members to their destinations, as slices of raw. It does the work of object without
// reflection, because every step is read with it.
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

// object decodes an object. Anything else is a fieldError at path.
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

// text reads a string. It returns the literal of a number, and "" if raw is null or absent.
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

// either returns the first of two fields that is a non-empty string.
func either(a, b json.RawMessage) string {
	if s, err := text(a, ""); err == nil && s != "" {
		return s
	}
	s, _ := text(b, "")
	return s
}

// truth reads a boolean. It returns false if raw is null or absent, and true for "true" and 1.
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

// asObject returns an object unchanged and wraps anything else, because additional_output is an object for all clients.
func asObject(raw json.RawMessage) json.RawMessage {
	raw = value(raw)
	if len(raw) == 0 || rawjson.Kind(raw) == '{' {
		return raw
	}
	return new(rawjson.Writer).Open('{').Key("additional_output").Raw(raw, "null").Close('}').Bytes
}

// value returns raw without surrounding blanks, or nil if it is null or absent.
func value(raw json.RawMessage) json.RawMessage {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	return raw
}

func isList(raw json.RawMessage) bool { return rawjson.Kind(raw) == '[' }
