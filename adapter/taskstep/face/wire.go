package face

import (
	"encoding/json"
	"path"
	"strconv"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/go-json-experiment/json/jsontext"
)

// This file writes what the v1 document calls Task, Step, Artifact and
// Pagination. Answers are built by appending: values that are only carried are
// spliced in as the bytes they came as. Every field is always there, arrays
// are never null, additional_input is always an object.

// timeForm is RFC 3339 in UTC with microseconds, which every store keeps.
const timeForm = "2006-01-02T15:04:05.000000Z"

// writer holds what may differ between two agents' answers.
type writer struct {
	folders bool   // relative_path is the folder only
	topic   string // tasks and steps name the topic they were asked for in
}

func (s *server) writer(ref adapter.TaskRef) writer {
	return writer{folders: s.face.Agents[ref.Agent].Artifacts.Path == "folder", topic: ref.Topic}
}

func (w writer) task(b []byte, t *mapping.Task) []byte {
	b = append(b, `{"task_id":`...)
	b = appendString(b, t.ID)
	b = w.ofTopic(b)
	b = append(b, `,"input":`...)
	if t.HasInput {
		b = appendString(b, t.Input)
	} else {
		b = append(b, "null"...)
	}
	b = append(b, `,"additional_input":`...)
	b = appendObject(b, t.AdditionalInput)
	b = append(b, `,"artifacts":`...)
	b = w.artifacts(b, t.Artifacts)
	b = appendTime(b, "created_at", t.CreatedAt)
	b = appendTime(b, "modified_at", t.UpdatedAt)
	return append(b, '}')
}

func (w writer) step(b []byte, s *mapping.Step) []byte {
	return w.behindInput(appendNullable(w.beforeInput(b, s), s.Input), s)
}

// stepPieces is step without a copy of its input, which may be long: it is quoted while it
// is sent.
func (w writer) stepPieces(s *mapping.Step) *rawjson.Pieces {
	p := new(rawjson.Pieces).Raw(w.beforeInput(nil, s))
	if s.Input == nil {
		p.Literal("null")
	} else {
		p.Text(*s.Input)
	}
	return p.Raw(w.behindInput(make([]byte, 0, stepRoom(s)), s))
}

func (w writer) beforeInput(b []byte, s *mapping.Step) []byte {
	b = append(b, `{"step_id":`...)
	b = appendString(b, s.ID)
	b = append(b, `,"task_id":`...)
	b = appendString(b, s.TaskID)
	b = w.ofTopic(b)
	b = append(b, `,"name":`...)
	b = appendString(b, s.Name)
	b = append(b, `,"status":`...)
	b = appendString(b, string(s.Status))
	return append(b, `,"input":`...)
}

func (w writer) behindInput(b []byte, s *mapping.Step) []byte {
	b = append(b, `,"additional_input":`...)
	b = appendObject(b, s.AdditionalInput)
	b = append(b, `,"output":`...)
	b = appendNullable(b, s.Output)
	b = append(b, `,"additional_output":`...)
	b = appendRaw(b, s.AdditionalOutput, "null")
	b = append(b, `,"artifacts":`...)
	b = w.artifacts(b, s.Artifacts)
	b = append(b, `,"is_last":`...)
	b = strconv.AppendBool(b, s.IsLast)
	b = appendTime(b, "created_at", s.CreatedAt)
	return append(b, '}')
}

// stepRoom is about the length of a step without its input and artifacts, so that a long
// one is not copied while it is written.
func stepRoom(s *mapping.Step) int {
	n := 1<<10 + len(s.AdditionalInput) + len(s.AdditionalOutput)
	if s.Output != nil {
		n += rawjson.QuotedSize(*s.Output)
	}
	return n
}

func (w writer) ofTopic(b []byte) []byte {
	if w.topic == "" {
		return b
	}
	b = append(b, `,"topic_id":`...)
	return appendString(b, w.topic)
}

func (w writer) artifacts(b []byte, list []mapping.Artifact) []byte {
	b = append(b, '[')
	for i := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = w.artifact(b, &list[i])
	}
	return append(b, ']')
}

func (w writer) artifact(b []byte, a *mapping.Artifact) []byte {
	b = append(b, `{"artifact_id":`...)
	b = appendString(b, a.ID)
	b = append(b, `,"agent_created":`...)
	b = strconv.AppendBool(b, a.AgentCreated)
	b = append(b, `,"file_name":`...)
	b = appendString(b, path.Base(a.Path))
	b = append(b, `,"relative_path":`...)
	b = w.relativePath(b, a.Path)
	b = appendTime(b, "created_at", a.CreatedAt)
	b = appendTime(b, "modified_at", a.ModifiedAt)
	return append(b, '}')
}

// relativePath is null for a file in the root, which every known client
// understands. For a nested one clients differ: benchmark harnesses since
// September 2023 expect the whole path, the document's example is the folder.
func (w writer) relativePath(b []byte, p string) []byte {
	folder, _ := path.Split(p)
	switch {
	case folder == "":
		return append(b, "null"...)
	case w.folders:
		return appendString(b, folder)
	}
	return appendString(b, p)
}

// appendPagination writes what follows the items of a list (see writePage).
func appendPagination(b []byte, p adapter.Page, total int) []byte {
	b = append(b, `],"pagination":{"total_items":`...)
	b = strconv.AppendInt(b, int64(total), 10)
	b = append(b, `,"total_pages":`...)
	b = strconv.AppendInt(b, int64(pageCount(total, p.Size)), 10)
	b = append(b, `,"current_page":`...)
	b = strconv.AppendInt(b, int64(p.Number), 10)
	b = append(b, `,"page_size":`...)
	b = strconv.AppendInt(b, int64(p.Size), 10)
	return append(b, `}}`...)
}

// appendString writes a JSON string; bytes that are not UTF-8 become U+FFFD.
func appendString(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s)
	return b
}

func appendNullable(b []byte, s *string) []byte {
	if s == nil {
		return append(b, "null"...)
	}
	return appendString(b, *s)
}

func appendObject(b []byte, raw json.RawMessage) []byte { return appendRaw(b, raw, "{}") }

func appendRaw(b []byte, raw json.RawMessage, absent string) []byte {
	if len(raw) == 0 {
		return append(b, absent...)
	}
	return append(b, raw...)
}

// appendTime writes ,"name":"time", or nothing for the zero time.
func appendTime(b []byte, name string, t time.Time) []byte {
	if t.IsZero() {
		return b
	}
	b = append(b, `,"`...)
	b = append(b, name...)
	b = append(b, `":"`...)
	b = t.UTC().AppendFormat(b, timeForm)
	return append(b, '"')
}
