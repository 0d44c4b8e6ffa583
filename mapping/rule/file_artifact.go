package rule

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/state"
)

// File is one file of a state (values.files), decoded.
type File struct {
	Path       string // canonical, see CleanPath
	Content    []byte // nil for a Reference
	MIMEType   string
	Reference  string // artifact id of a file whose bytes are outside of the state
	Deleted    bool
	ModifiedAt time.Time
}

// FileStyle is the form of files in a state: objects or plain strings.
type FileStyle string

const (
	FileObject FileStyle = "object"
	FileString FileStyle = "string"
)

// fileTime is the format of times in a file object: UTC, in milliseconds.
const fileTime = "2006-01-02T15:04:05.000Z"

// EncodeFile returns the value of values.files["/"+path]. In style object it is {content, encoding: utf-8|base64,
// mimeType, created_at, modified_at}, in style string only the text. Content that is not text is an object in either
// style.
func EncodeFile(a mapping.Artifact, content []byte, style FileStyle) json.RawMessage {
	text := utf8.Valid(content) && bytes.IndexByte(content, 0) < 0
	if style == FileString && text {
		return rawjson.Quote(string(content))
	}
	w := rawjson.Writer{Bytes: make([]byte, 0, len(content)+len(content)/2+192)}
	w.Open('{').Key("content")
	if text {
		w.Text(string(content)).Key("encoding").Text("utf-8")
	} else {
		w.Bytes = append(base64.StdEncoding.AppendEncode(append(w.Bytes, '"'), content), '"')
		w.Key("encoding").Text("base64")
	}
	writeFileFacts(&w, a, text)
	return w.Close('}').Bytes
}

// EncodeReference returns the value for a file whose bytes are outside of the state: {artifact_id, url, size, mimeType,
// created_at, modified_at}. url is "" if clients cannot get the bytes.
func EncodeReference(a mapping.Artifact, url string) json.RawMessage {
	var w rawjson.Writer
	w.Open('{').Key("artifact_id").Text(a.ID)
	if url != "" {
		w.Key("url").Text(url)
	}
	w.Key("size").Int(a.Size)
	writeFileFacts(&w, a, false)
	return w.Close('}').Bytes
}

// octets is the type that clients send for a file of unknown type.
const octets = "application/octet-stream"

// writeFileFacts gives text of unknown type a text type, because agents that check it would not show the content to
// their model.
func writeFileFacts(w *rawjson.Writer, a mapping.Artifact, text bool) {
	switch {
	case text && (a.MIMEType == "" || a.MIMEType == octets):
		a.MIMEType = "text/plain"
	case a.MIMEType == "":
		a.MIMEType = octets
	}
	w.Key("mimeType").Text(a.MIMEType)
	w.Key("created_at").Text(a.CreatedAt.UTC().Format(fileTime))
	w.Key("modified_at").Text(a.ModifiedAt.UTC().Format(fileTime))
}

// DecodeFiles reads values.files, or a delta of it. The value of a path may be a string, {content: [lines]}, {content,
// encoding}, {content, mimeType}, {artifact_id}, or null for a deletion. Unreadable entries are skipped and named in
// bad. If two entries have the same canonical path, the later one counts. It returns no files for anything but an
// object.
func DecodeFiles(files json.RawMessage) (list []File, bad []string) {
	entries, err := rawjson.Members(files)
	if err != nil {
		return nil, nil
	}
	place := map[string]int{}
	for _, m := range entries {
		f, err := decodeFile(m.Name, m.Value)
		if err != nil {
			bad = append(bad, m.Name)
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

// FilesAt returns the file under a canonical path of a state, as DecodeFiles reads it: one entry or none.
func FilesAt(f *state.Fold, path string) []File {
	files := filesOf(f)
	for _, name := range [...]string{"/" + path, path} {
		if value := files.Get(name); value != nil {
			list, _ := DecodeFiles(rawObject(name, value))
			return list
		}
	}
	return nil
}

// ChangedFiles returns the files that are new or different in after. Files that after lacks are marked as Deleted.
// Either fold may be nil. Unreadable entries are named in bad, as by DecodeFiles.
func ChangedFiles(before, after *state.Fold) (list []File, bad []string) {
	was, now := filesOf(before), filesOf(after)
	if was == now || was.Len() == 0 && now.Len() == 0 {
		return nil, nil
	}
	var changed rawjson.Writer
	changed.Open('{')
	for _, m := range now.Members() {
		if old := was.Get(m.Name); old == nil || string(old) != string(m.Value) {
			changed.Member(&m)
		}
	}
	list, bad = DecodeFiles(changed.Close('}').Bytes)
	return append(list, goneFiles(was, now)...), bad
}

func goneFiles(was, now *rawjson.Object) []File {
	left := map[string]bool{}
	for _, m := range now.Members() {
		left[statePath(m.Name)] = !rawjson.IsNull(m.Value)
	}
	var gone []File
	for _, m := range was.Members() {
		path, err := CleanPath(m.Name)
		if _, there := left[statePath(m.Name)]; err == nil && !there {
			gone = append(gone, File{Path: path, Deleted: true})
		}
	}
	return gone
}

func filesOf(f *state.Fold) *rawjson.Object {
	if obj := f.Object(state.KeyFiles); obj != nil {
		return obj
	}
	return &rawjson.Object{}
}

var errFileShape = errors.New("its content has an unknown form")

func decodeFile(path string, b json.RawMessage) (File, error) {
	clean, err := CleanPath(path)
	if err != nil {
		return File{}, err
	}
	f := File{Path: clean}
	switch rawjson.Kind(b) {
	case '"':
		f.Content, err = textContent(b)
	case '{':
		err = f.decodeObject(b)
	default:
		if f.Deleted = rawjson.IsNull(b); !f.Deleted {
			err = errFileShape
		}
	}
	return f, err
}

func (f *File) decodeObject(b json.RawMessage) error {
	o, err := rawjson.ParseObject(b)
	if err != nil {
		return err
	}
	if f.MIMEType = rawjson.TextOf(o.Get("mimeType")); !mapping.IsText(f.MIMEType) {
		return errors.New("its mimeType is not UTF-8 without U+0000")
	}
	modified := rawjson.TextOf(o.Get("modified_at"))
	f.ModifiedAt = parseFileTime(modified)
	if f.Reference = rawjson.TextOf(o.Get("artifact_id")); f.Reference != "" {
		return nil
	}
	encoding := rawjson.TextOf(o.Get("encoding"))
	f.Content, err = fileContent(o.Get("content"), encoding)
	return err
}

func fileContent(b json.RawMessage, encoding string) ([]byte, error) {
	switch rawjson.Kind(b) {
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
		text := rawjson.TextOf(b)
		return base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	default:
		return nil, errors.New("its encoding is unknown")
	}
}

func textContent(b json.RawMessage) ([]byte, error) {
	text, ok := rawjson.Text(b)
	if !ok {
		return nil, errFileShape
	}
	return []byte(text), nil
}

func joinLines(b json.RawMessage) ([]byte, error) {
	lines, err := rawjson.Elements(b)
	if err != nil {
		return nil, err
	}
	out := []byte{}
	for i, e := range lines {
		line, ok := rawjson.Text(e)
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

// byteObject reads bytes as JavaScript writes them to JSON: {type: "Buffer", data: […]} for a Buffer, {"0": 104, "1":
// 105 …} for a Uint8Array.
func byteObject(b json.RawMessage) ([]byte, error) {
	object, err := rawjson.ParseObject(b)
	if err != nil {
		return nil, err
	}
	if rawjson.TextOf(object.Get("type")) == "Buffer" {
		elems, err := rawjson.Elements(object.Get("data"))
		if err != nil {
			return nil, err
		}
		return byteList(elems)
	}
	elems := make([]json.RawMessage, object.Len())
	for i, m := range object.Members() {
		if m.Name != strconv.Itoa(i) {
			return nil, errFileShape
		}
		elems[i] = m.Value
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

// parseFileTime reads RFC 3339, which may lack a zone for UTC. It returns the zero time for anything else.
func parseFileTime(s string) time.Time {
	for _, layout := range [...]string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
