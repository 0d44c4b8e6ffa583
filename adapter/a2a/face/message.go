package face

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/apbridge/apbridge/adapter/a2a/wire"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
)

// This file converts messages of clients to messages of a state and back. Text and data parts become text, since models
// read nothing else; the message keeps the numbers of the data parts in additional_kwargs (rule.KeyData), from which
// history and A2A agents get them. Files keep their bytes or their link.

const (
	typeHuman = "human"
	typeAI    = "ai"
)

// The media types of parts that name none.
const (
	mediaText  = "text/plain"
	mediaJSON  = "application/json"
	mediaBytes = "application/octet-stream"
)

// stateMessage returns a client's message as a human message of a state.
func stateMessage(m *wire.Message) json.RawMessage {
	w := new(rawjson.Writer).Open('{').Key("type").Text(typeHuman).Key("id").Text(m.MessageID).Key("content")
	if len(m.Parts) == 1 && m.Parts[0].Kind == wire.PartText {
		return w.Text(m.Parts[0].Text).Close('}').Bytes
	}
	var data []string
	w.Open('[')
	for i, p := range m.Parts {
		if p.Kind == wire.PartData {
			data = append(data, strconv.Itoa(i))
		}
		writeBlock(w, p)
	}
	w.Close(']')
	if len(data) > 0 {
		w.Key("additional_kwargs").Open('{').Key(rule.KeyData).Literal("[" + strings.Join(data, ",") + "]").Close('}')
	}
	return w.Close('}').Bytes
}

// writeBlock writes a part as a content block of LangChain.
func writeBlock(w *rawjson.Writer, p wire.Part) {
	w.Open('{').Key("type")
	switch p.Kind {
	case wire.PartRaw, wire.PartURL:
		w.Text(blockType(p.MediaType))
		if p.Kind == wire.PartRaw {
			w.Key("source_type").Text("base64").Key("data").Text(base64.StdEncoding.EncodeToString(p.Raw))
		} else {
			w.Key("source_type").Text("url").Key("url").Text(p.URL)
		}
		if p.MediaType != "" || p.Kind == wire.PartRaw {
			w.Key("mime_type").Text(mediaTypeOf(p))
		}
		if p.Filename != "" {
			w.Key("filename").Text(p.Filename)
		}
	case wire.PartData:
		w.Text("text").Key("text").Text(rawjson.CompactText(p.Data))
	default:
		w.Text("text").Key("text").Text(p.Text)
	}
	w.Close('}')
}

func blockType(mediaType string) string {
	kind, _, _ := strings.Cut(mediaType, "/")
	if slices.Contains([]string{"image", "audio", "video"}, kind) {
		return kind
	}
	return "file"
}

// mediaTypeOf returns the media type of a part.
func mediaTypeOf(p wire.Part) string {
	if p.MediaType != "" {
		return p.MediaType
	}
	switch p.Kind {
	case wire.PartText:
		return mediaText
	case wire.PartData:
		return mediaJSON
	}
	return mediaBytes
}

// fits reports whether a media type is one of a list, whose entries may have "*" as their subtype or be "*/*".
func fits(mediaType string, list []string) bool {
	mediaType, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(mediaType)), ";")
	kind, _, _ := strings.Cut(mediaType, "/")
	return slices.ContainsFunc(list, func(mode string) bool {
		mode, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(mode)), ";")
		return mode == mediaType || mode == kind+"/*" || mode == "*/*"
	})
}

// words returns the text of a message, its data parts as JSON.
func words(m *wire.Message) string {
	var list []string
	for _, p := range m.Parts {
		switch p.Kind {
		case wire.PartText:
			list = append(list, p.Text)
		case wire.PartData:
			list = append(list, rawjson.CompactText(p.Data))
		}
	}
	return strings.Join(list, "\n")
}

// partsOf returns the content of a message of a state as parts. Of a file of more than limit bytes it returns the link, or
// the name if there is none.
func partsOf(message json.RawMessage, limit int64, link linker) (parts wire.Parts) {
	content := rawjson.Get(message, "content")
	if rawjson.Kind(content) == '"' {
		if text := rawjson.TextOf(content); text != "" {
			parts = append(parts, wire.TextPart(text))
		}
		return parts
	}
	isData := rule.IsData(message)
	files := rule.Attachments(message)
	for i, block := range rawjson.ElementsOf(content) {
		one := new(rawjson.Writer).Open('{').Key("content").Open('[').Raw(block, "null").Close(']').Close('}').Bytes
		if alone := rule.Attachments(one); len(alone) > 0 && len(files) > 0 {
			if p, ok := filePart(files[0], limit, link); ok {
				if !files[0].Held() && alone[0].Name != p.Filename { // derived from the message's id
					p.Filename = ""
				}
				parts = append(parts, p)
			}
			files = files[1:]
			continue
		}
		switch text := rule.MessageText(one); {
		case text == "":
		case isData(i) && rawjson.Valid([]byte(text)):
			parts = append(parts, wire.DataPart(json.RawMessage(text)))
		default:
			parts = append(parts, wire.TextPart(text))
		}
	}
	return parts
}

// linker returns the URL of a file in a message, or "". A nil linker has no URLs.
type linker func(rule.Attachment) string

func filePart(a rule.Attachment, limit int64, link linker) (wire.Part, bool) {
	p := wire.Part{Filename: a.Name, MediaType: a.MIMEType}
	if !a.Held() {
		p.Kind, p.URL = wire.PartURL, a.Link
		return p, true
	}
	raw, err := io.ReadAll(io.LimitReader(a.Open(), limit+1))
	if err != nil {
		return p, false
	}
	if int64(len(raw)) > limit {
		if link != nil {
			p.URL = link(a)
		}
		if p.URL == "" {
			return wire.TextPart("[" + a.Name + "]"), true
		}
		p.Kind = wire.PartURL
		return p, true
	}
	p.Kind, p.Raw = wire.PartRaw, raw
	return p, true
}

// says reports whether a message of a state is an agent's answer: an ai message with content that the agent wrote.
func says(message json.RawMessage) bool {
	if rawjson.GetText(message, "type") != typeAI || rule.IsFaultMessage(message) || rule.SaysOnlySkipped(message) {
		return false
	}
	return rule.MessageText(message) != "" || len(rule.Attachments(message)) > 0
}

// question returns the status message of a task that waits for answers (S 4.1.2): for each question its text, and a data
// part by which a client can answer it. It is nil for a task that was stopped without a question.
func (v *view) question(runID string, open []mapping.Interrupt) *wire.Message {
	if len(open) == 0 {
		return nil
	}
	m := &wire.Message{MessageID: mapping.MessageID(runID, "question"), Role: wire.RoleAgent, TaskID: v.taskID, ContextID: v.contextID}
	for _, q := range open {
		w := new(rawjson.Writer).Open('{').Key("interrupt_id").Text(q.ID)
		if kind := rawjson.Kind(q.Value); kind == '{' || kind == '[' {
			w.Key("value").Raw(q.Value, "null")
		}
		if len(q.Schema) > 0 {
			w.Key("response_schema").Raw(q.Schema, "null")
		}
		data := wire.DataPart(w.Close('}').Bytes)
		data.MediaType = mediaJSON
		m.Parts = append(m.Parts, wire.TextPart(rule.QuestionText(q.Value)), data)
	}
	return m
}

// asks reports whether a text is that of one of the questions.
func asks(text string, questions []mapping.Interrupt) bool {
	return slices.ContainsFunc(questions, func(q mapping.Interrupt) bool { return text != "" && text == rule.QuestionText(q.Value) })
}

// newest returns the agent's last message that follows the newest message of a person and is no question. Messages in
// before do not count.
func newest(f *state.Fold, before earlier, questions []mapping.Interrupt) json.RawMessage {
	if f == nil {
		return nil
	}
	for i, m := range slices.Backward(f.Messages()) {
		if rawjson.GetText(m, "type") == typeHuman || before.has(i, state.IDOfMessage(m)) {
			return nil
		}
		if says(m) && !asks(rule.MessageText(m), questions) {
			return m
		}
	}
	return nil
}

// earlier are the messages of a state. The zero value has none.
type earlier struct {
	count int
	known func(id string) bool
}

func messagesIn(f *state.Fold) earlier {
	if f == nil {
		return earlier{}
	}
	return earlier{len(f.Messages()), f.HasMessage()}
}

// has reports whether a message of a later state was there, by its id or, if it has none, its place.
func (b earlier) has(at int, id string) bool {
	if id == "" {
		return at < b.count
	}
	return b.known != nil && b.known(id)
}
