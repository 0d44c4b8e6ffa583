package face

import (
	"path"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
)

// This file writes Task, Step, Artifact and Pagination of the v1 document. Every field is present, arrays are never
// null, and additional_input is always an object.

// timeForm is RFC 3339 in UTC with microseconds, the precision of every store.
const timeForm = "2006-01-02T15:04:05.000000Z"

// layout holds the differences between responses on the routes of agents and of topics.
type layout struct {
	folders bool   // relative_path is the folder only
	topic   string // id of the topic, for tasks and steps below one
}

func (s *server) layout(ref adapter.TaskRef) layout {
	return layout{folders: s.face.Agents[ref.Agent].Artifacts.Path == "folder", topic: ref.Topic}
}

// written returns the JSON that write writes for v.
func written[T any](write func(*rawjson.Writer, *T), v *T) []byte {
	var w rawjson.Writer
	write(&w, v)
	return w.Bytes
}

func (l layout) task(w *rawjson.Writer, t *mapping.Task) {
	w.Open('{').Key("task_id").Text(t.ID)
	l.ofTopic(w)
	w.Key("input")
	if t.HasInput {
		w.Text(t.Input)
	} else {
		w.Literal("null")
	}
	w.Key("additional_input").Raw(t.AdditionalInput, "{}").Key("artifacts")
	l.artifacts(w, t.Artifacts)
	writeTime(w, "created_at", t.CreatedAt)
	writeTime(w, "modified_at", t.UpdatedAt)
	w.Close('}')
}

func (l layout) step(w *rawjson.Writer, s *mapping.Step) {
	l.beforeInput(w, s)
	writeNullable(w, s.Input)
	l.behindInput(w, s)
}

// stepPieces is step without a copy of the input, which may be long. The input is quoted while it is being sent.
func (l layout) stepPieces(s *mapping.Step) *rawjson.Pieces {
	var before rawjson.Writer
	l.beforeInput(&before, s)
	p := new(rawjson.Pieces).Raw(before.Bytes)
	if s.Input == nil {
		p.Literal("null")
	} else {
		p.Text(*s.Input)
	}
	behind := rawjson.Writer{Bytes: make([]byte, 0, stepRoom(s))}
	l.behindInput(behind.Literal(","), s)
	return p.Raw(behind.Bytes)
}

func (l layout) beforeInput(w *rawjson.Writer, s *mapping.Step) {
	w.Open('{').Key("step_id").Text(s.ID).Key("task_id").Text(s.TaskID)
	l.ofTopic(w)
	w.Key("name").Text(s.Name).Key("status").Text(string(s.Status)).Key("input")
}

func (l layout) behindInput(w *rawjson.Writer, s *mapping.Step) {
	w.Key("additional_input").Raw(s.AdditionalInput, "{}").Key("output")
	writeNullable(w, s.Output)
	w.Key("additional_output").Raw(s.AdditionalOutput, "null").Key("artifacts")
	l.artifacts(w, s.Artifacts)
	w.Key("is_last").Bool(s.IsLast)
	writeTime(w, "created_at", s.CreatedAt)
	w.Close('}')
}

// stepRoom returns the approximate size of a step without its input and artifacts, so that the buffer need not grow.
func stepRoom(s *mapping.Step) int {
	n := 1<<10 + len(s.AdditionalInput) + len(s.AdditionalOutput)
	if s.Output != nil {
		n += rawjson.QuotedSize(*s.Output)
	}
	return n
}

func (l layout) ofTopic(w *rawjson.Writer) {
	if l.topic != "" {
		w.Key("topic_id").Text(l.topic)
	}
}

func (l layout) artifacts(w *rawjson.Writer, list []mapping.Artifact) {
	w.Open('[')
	for i := range list {
		l.artifact(w, &list[i])
	}
	w.Close(']')
}

func (l layout) artifact(w *rawjson.Writer, a *mapping.Artifact) {
	w.Open('{').Key("artifact_id").Text(a.ID).Key("agent_created").Bool(a.AgentCreated)
	w.Key("file_name").Text(path.Base(a.Path)).Key("relative_path").OrNull(l.relativePath(a.Path))
	writeTime(w, "created_at", a.CreatedAt)
	writeTime(w, "modified_at", a.ModifiedAt)
	w.Close('}')
}

// relativePath returns "" for a file in the root. It is written as null, which every known client accepts. For nested
// files clients differ: benchmark harnesses since September 2023 expect the whole path, while the document's example is
// the folder.
func (l layout) relativePath(p string) string {
	folder, _ := path.Split(p)
	if folder == "" || l.folders {
		return folder
	}
	return p
}

// writePagination writes the member after the items of a list.
func writePagination(w *rawjson.Writer, p adapter.Page, total int) {
	w.Key("pagination").Open('{').Key("total_items").Int(int64(total))
	w.Key("total_pages").Int(int64(pageCount(total, p.Size)))
	w.Key("current_page").Int(int64(p.Number)).Key("page_size").Int(int64(p.Size)).Close('}')
}

func writeNullable(w *rawjson.Writer, s *string) {
	if s == nil {
		w.Literal("null")
	} else {
		w.Text(*s)
	}
}

// writeTime writes a member, unless the time is zero.
func writeTime(w *rawjson.Writer, name string, t time.Time) {
	if !t.IsZero() {
		w.Key(name).Time(t, timeForm)
	}
}

// topicObject writes a Topic of the Topic RFC, with the fields that the bridge adds.
func (l layout) topicObject(w *rawjson.Writer, t *rule.Topic) {
	w.Open('{').Key("topic_id").Text(t.ID).Key("name")
	writeNullable(w, t.Name)
	w.Key("additional_input").Raw(t.AdditionalInput, "{}").Key("status").Text(string(t.Status))
	w.Key("memory").Raw(t.Memory, "{}").Key("artifacts")
	l.artifacts(w, t.Artifacts)
	writeTime(w, "created_at", t.CreatedAt)
	writeTime(w, "modified_at", t.UpdatedAt)
	w.Close('}')
}

// interaction writes an Interaction. input is the text for the agent, output is the agent's text.
func (l layout) interaction(w *rawjson.Writer, i *rule.Interaction) {
	w.Open('{').Key("interaction_id").Text(i.ID).Key("topic_id").Text(i.TopicID)
	w.Key("task_id").OrNull(i.TaskID).Key("role").Text(string(i.Role)).Key("input")
	writeNullable(w, i.Input)
	w.Key("additional_input").Raw(i.AdditionalInput, "{}").Key("output")
	writeNullable(w, i.Output)
	w.Key("additional_output").Raw(i.AdditionalOutput, "null").Key("artifacts")
	l.artifacts(w, i.Artifacts)
	writeTime(w, "created_at", i.CreatedAt)
	w.Close('}')
}
