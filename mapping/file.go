package mapping

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// File is one file of a state (values.files), decoded.
type File struct {
	Path       string // canonical, see CleanPath
	Content    []byte // nil when Reference
	MIMEType   string
	Reference  string // artifact id of a file whose bytes are not in the state
	Deleted    bool
	ModifiedAt time.Time
}

// FileStyle is how files stand in a state: as objects or as plain strings.
type FileStyle string

const (
	FileObject FileStyle = "object"
	FileString FileStyle = "string"
)

// fileTime is how times are written in a file object: UTC, in milliseconds.
const fileTime = "2006-01-02T15:04:05.000Z"

// EncodeFile is the value of values.files["/"+path]: by style object
// {content, encoding: utf-8|base64, mimeType, created_at, modified_at}, by
// style string the text alone. Content that is no text is an object in either
// style.
func EncodeFile(a Artifact, content []byte, style FileStyle) json.RawMessage {
	text := utf8.Valid(content) && bytes.IndexByte(content, 0) < 0
	if style == FileString && text {
		return quoted(string(content))
	}
	w := objectWriter{buf: make([]byte, 0, len(content)+len(content)/2+192)}
	w.name("content")
	if text {
		w.buf = appendQuoted(w.buf, string(content))
		w.text("encoding", "utf-8")
	} else {
		w.buf = append(base64.StdEncoding.AppendEncode(append(w.buf, '"'), content), '"')
		w.text("encoding", "base64")
	}
	writeFileFacts(&w, a, text)
	return w.done()
}

// ArtifactURL is where a client of the bridge finds the bytes of an artifact of the
// task's thread: a path on the bridge itself, on the task/step face of the agent.
func ArtifactURL(agent, taskID, artifactID string) string {
	return "/agents/" + url.PathEscape(agent) + "/ap/v1/agent/tasks/" + url.PathEscape(taskID) + "/artifacts/" + url.PathEscape(artifactID)
}

// EncodeReference is the value for a file whose bytes stay out of the state and are
// found at url: {artifact_id, url, size, mimeType, created_at, modified_at}.
func EncodeReference(a Artifact, url string) json.RawMessage {
	var w objectWriter
	w.text("artifact_id", a.ID)
	w.text("url", url)
	w.raw("size", json.RawMessage(strconv.FormatInt(a.Size, 10)))
	writeFileFacts(&w, a, false)
	return w.done()
}

// octets is what clients call a file whose type they do not know.
const octets = "application/octet-stream"

// writeFileFacts calls text a text even where nobody knew its type: agents that
// go by it would not show its content to their model.
func writeFileFacts(w *objectWriter, a Artifact, text bool) {
	switch {
	case text && (a.MIMEType == "" || a.MIMEType == octets):
		a.MIMEType = "text/plain"
	case a.MIMEType == "":
		a.MIMEType = octets
	}
	w.text("mimeType", a.MIMEType)
	w.text("created_at", a.CreatedAt.UTC().Format(fileTime))
	w.text("modified_at", a.ModifiedAt.UTC().Format(fileTime))
}

// DecodeFiles reads values.files, or a delta of it, in every shape that is in
// use: path to a string, to {content: [lines]}, to {content, encoding}, to
// {content, mimeType}, to {artifact_id}, or to null for a deletion. Entries it
// cannot read are skipped and named in bad. Of two entries with one canonical
// path the later counts. What is no object has no files.
func DecodeFiles(files json.RawMessage) (list []File, bad []string) {
	entries, err := splitObject(files)
	if err != nil {
		return nil, nil
	}
	place := map[string]int{}
	for _, m := range entries {
		f, err := decodeFile(m.key, m.val)
		if err != nil {
			bad = append(bad, m.key)
			continue
		}
		if i, ok := place[f.Path]; ok {
			list[i] = f
			continue
		}
		place[f.Path] = len(list)
		list = append(list, f)
	}
	return list, bad
}

// ChangedFiles are the files that are new or different in after, and as
// Deleted those that it does not have any more. Either fold may be nil. Entries
// that cannot be read are named in bad, as by DecodeFiles.
func ChangedFiles(before, after *Fold) (list []File, bad []string) {
	was, now := before.files(), after.files()
	if was == now || len(was.list) == 0 && len(now.list) == 0 {
		return nil, nil
	}
	var changed objectWriter
	for _, m := range now.list {
		if old := was.get(m.key); old == nil || string(old) != string(m.val) {
			changed.spliced(m.name)
			changed.buf = append(changed.buf, m.val...)
		}
	}
	list, bad = DecodeFiles(changed.done())
	return append(list, goneFiles(was, now)...), bad
}

func goneFiles(was, now *members) []File {
	left := map[string]bool{}
	for _, m := range now.list {
		left[statePath(m.key)] = !isNull(m.val)
	}
	var gone []File
	for _, m := range was.list {
		path, err := CleanPath(m.key)
		if _, there := left[statePath(m.key)]; err == nil && !there {
			gone = append(gone, File{Path: path, Deleted: true})
		}
	}
	return gone
}

func (f *Fold) files() *members {
	if f != nil {
		if obj := f.value(keyFiles).object(); obj != nil {
			return obj
		}
	}
	return &members{}
}

var errFileShape = errors.New("its content has no known shape")

func decodeFile(path string, b json.RawMessage) (File, error) {
	clean, err := CleanPath(path)
	if err != nil {
		return File{}, err
	}
	f := File{Path: clean}
	switch kindOf(b) {
	case '"':
		f.Content, err = textContent(b)
	case '{':
		err = f.decodeObject(b)
	default:
		if f.Deleted = isNull(b); !f.Deleted {
			err = errFileShape
		}
	}
	return f, err
}

func (f *File) decodeObject(b json.RawMessage) error {
	object, err := splitObject(b)
	if err != nil {
		return err
	}
	o := members{list: object}
	if f.MIMEType, _ = stringOf(o.get("mimeType")); !IsText(f.MIMEType) {
		return errors.New("its mimeType is not UTF-8 without U+0000")
	}
	modified, _ := stringOf(o.get("modified_at"))
	f.ModifiedAt = parseFileTime(modified)
	if f.Reference, _ = stringOf(o.get("artifact_id")); f.Reference != "" {
		return nil
	}
	encoding, _ := stringOf(o.get("encoding"))
	f.Content, err = fileContent(o.get("content"), encoding)
	return err
}

func fileContent(b json.RawMessage, encoding string) ([]byte, error) {
	switch kindOf(b) {
	case '"':
		return decodeText(b, encoding)
	case '[':
		return joinLines(b)
	case '{':
		return byteObject(b)
	default:
		return nil, errFileShape
	}
}

func decodeText(b json.RawMessage, encoding string) ([]byte, error) {
	switch strings.ToLower(encoding) {
	case "", "utf-8", "utf8":
		return textContent(b)
	case "base64":
		text, _ := stringOf(b)
		return base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	default:
		return nil, errors.New("its encoding is unknown")
	}
}

func textContent(b json.RawMessage) ([]byte, error) {
	text, ok := stringOf(b)
	if !ok {
		return nil, errFileShape
	}
	return []byte(text), nil
}

func joinLines(b json.RawMessage) ([]byte, error) {
	lines, err := splitArray(b)
	if err != nil {
		return nil, err
	}
	out := []byte{}
	for i, e := range lines {
		line, ok := stringOf(e)
		if !ok {
			return nil, errFileShape
		}
		if i > 0 {
			out = append(out, '\n')
		}
		out = append(out, line...)
	}
	return out, nil
}

// byteObject reads what JavaScript makes of bytes: {type: "Buffer", data:
// […]} of a Buffer, {"0": 104, "1": 105 …} of a Uint8Array.
func byteObject(b json.RawMessage) ([]byte, error) {
	list, err := splitObject(b)
	if err != nil {
		return nil, err
	}
	object := members{list: list}
	if kind, _ := stringOf(object.get("type")); kind == "Buffer" {
		elems, err := splitArray(object.get("data"))
		if err != nil {
			return nil, err
		}
		return byteList(elems)
	}
	elems := make([]json.RawMessage, len(list))
	for i, m := range list {
		if m.key != strconv.Itoa(i) {
			return nil, errFileShape
		}
		elems[i] = m.val
	}
	return byteList(elems)
}

func byteList(elems []json.RawMessage) ([]byte, error) {
	out := make([]byte, len(elems))
	for i, e := range elems {
		n, err := strconv.ParseUint(string(e), 10, 8)
		if err != nil {
			return nil, errFileShape
		}
		out[i] = byte(n)
	}
	return out, nil
}

// parseFileTime reads RFC 3339, and the same without a zone as UTC; the zero
// time for anything else.
func parseFileTime(s string) time.Time {
	for _, layout := range [...]string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
