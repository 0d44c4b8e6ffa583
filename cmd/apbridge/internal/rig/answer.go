package rig

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Answer is the response to one request.
type Answer struct {
	T      *testing.T
	Name   string // of the request, for messages
	Status int
	Header http.Header
	Body   []byte
}

// PlainClient opens a connection for each request, so that tests do not wait for each other. It does not follow
// redirects.
var PlainClient = &http.Client{
	Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// Do sends a request. A non-empty body is JSON unless headers, alternating names and values, have another type.
func (b *Bridge) Do(method, path, body string, headers ...string) Answer {
	b.T.Helper()
	a, err := b.Try(context.Background(), method, path, body, headers...)
	if err != nil {
		b.T.Fatalf("%s %s: %v", method, path, err)
	}
	return a
}

// Try is Do, but returns the error of a request without an answer.
func (b *Bridge) Try(ctx context.Context, method, path, body string, headers ...string) (Answer, error) {
	req, err := b.request(ctx, method, path, body, headers...)
	if err != nil {
		return Answer{}, err
	}
	res, err := PlainClient.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer res.Body.Close()
	raw, err := readBody(res)
	if err == nil {
		b.Judge.Check(b.T, method, path, res.StatusCode, res.Header, raw)
	}
	return Answer{T: b.T, Name: method + " " + path, Status: res.StatusCode, Header: res.Header, Body: raw}, err
}

// readBody reads a response, which is compressed if the request allowed that.
func readBody(res *http.Response) ([]byte, error) {
	if res.Header.Get("Content-Encoding") != "gzip" {
		return io.ReadAll(res.Body)
	}
	z, err := gzip.NewReader(res.Body)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// request builds the request. Host may be among the headers.
func (b *Bridge) request(ctx context.Context, method, path, body string, headers ...string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, b.URL+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
			continue
		}
		req.Header[http.CanonicalHeaderKey(headers[i])] = []string{headers[i+1]}
	}
	return req, nil
}

// Get is Do without a body.
func (b *Bridge) Get(path string) Answer { b.T.Helper(); return b.Do("GET", path, "") }

// Post is Do with POST.
func (b *Bridge) Post(path, body string) Answer { b.T.Helper(); return b.Do("POST", path, body) }

// OK fails the test unless the status is 2xx.
func (a Answer) OK() Answer {
	a.T.Helper()
	if a.Status/100 != 2 {
		a.T.Fatalf("%s returned %d: %.500s", a.Name, a.Status, a.Body)
	}
	return a
}

// Is fails the test unless the answer has the status.
func (a Answer) Is(status int) Answer {
	a.T.Helper()
	if a.Status != status {
		a.T.Fatalf("%s returned %d, want %d: %.500s", a.Name, a.Status, status, a.Body)
	}
	return a
}

// Want reports an error and continues if the response has another status or lacks one of the texts.
func (a Answer) Want(t *testing.T, status int, texts ...string) Answer {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(a.String(), text) {
			t.Errorf("%s: %q is not in: %d %s", a.Name, text, a.Status, a.Body)
		}
	}
	if a.Status != status {
		t.Errorf("%s returned %d, want %d: %s", a.Name, a.Status, status, a.Body)
	}
	return a
}

func (a Answer) String() string { return string(a.Body) }

// Member is At as text: a string unchanged, anything else as JSON. It is "" if the answer is not JSON.
func (a Answer) Member(path string) string {
	var v any
	if json.Unmarshal(a.Body, &v) != nil {
		return ""
	}
	v = Dig(v, path)
	if s, ok := v.(string); ok {
		return s
	}
	b, _ := json.Marshal(v)
	return string(b)
}

// At returns the value at a path like "messages.0.content", or nil.
func (a Answer) At(path string) any {
	a.T.Helper()
	var v any
	if err := json.Unmarshal(a.Body, &v); err != nil {
		a.T.Fatalf("%s returned no JSON (%v): %.300s", a.Name, err, a.Body)
	}
	return Dig(v, path)
}

// TextOf returns v if it is a string, or else "".
func TextOf(v any) string { s, _ := v.(string); return s }

// Text is At for strings.
func (a Answer) Text(path string) string {
	a.T.Helper()
	s, ok := a.At(path).(string)
	if !ok {
		a.T.Fatalf("%s: %s is %v, not a string, in %.500s", a.Name, path, a.At(path), a.Body)
	}
	return s
}

// List is At for lists.
func (a Answer) List(path string) []any {
	a.T.Helper()
	list, _ := a.At(path).([]any)
	return list
}

// Dig returns the value at a path in decoded JSON, or nil.
func Dig(v any, path string) any {
	if path == "" {
		return v
	}
	for _, key := range strings.Split(path, ".") {
		switch at := v.(type) {
		case map[string]any:
			v = at[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(at) {
				return nil
			}
			v = at[i]
		default:
			return nil
		}
	}
	return v
}

// Pluck returns one field of every element of a list.
func Pluck(list []any, path string) []any {
	out := make([]any, 0, len(list))
	for _, v := range list {
		out = append(out, Dig(v, path))
	}
	return out
}

// Frame is one frame of an event stream.
type Frame struct{ ID, Event, Data string }

// At returns the value at a path in the frame's data, or nil.
func (f Frame) At(path string) any {
	var v any
	_ = json.Unmarshal([]byte(f.Data), &v)
	return Dig(v, path)
}

// ReadFrames reads an event stream according to the HTML Standard, to its end or, if n is positive, to the nth frame.
func ReadFrames(r io.Reader, n int) ([]Frame, error) {
	var list []Frame
	var f Frame
	lines := NewLineReader(r)
	for {
		line, err := lines.Next()
		if err == io.EOF {
			return list, nil
		} else if err != nil {
			return list, err
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "" && (f.Event != "" || f.Data != ""):
			if list = append(list, f); len(list) == n {
				return list, nil
			}
			f = Frame{}
		case name == "id":
			f.ID = value
		case name == "event":
			f.Event = value
		case name == "data":
			f.Data += value
		}
	}
}

type lineReader struct {
	r   io.Reader
	buf []byte
}

// NewLineReader returns a reader of a stream's lines as they arrive.
func NewLineReader(r io.Reader) *lineReader { return &lineReader{r: r} }

// Next returns the next line, or the error that ended the stream.
func (l *lineReader) Next() (string, error) {
	for {
		if line, rest, ok := bytes.Cut(l.buf, []byte("\n")); ok {
			l.buf = rest
			return strings.TrimSuffix(string(line), "\r"), nil
		}
		piece := make([]byte, 4096)
		n, err := l.r.Read(piece)
		l.buf = append(l.buf, piece[:n]...)
		if n == 0 && err != nil {
			return "", err
		}
	}
}

// Stream reads a whole event stream, or its first n frames and then disconnects.
func (b *Bridge) Stream(method, path, body string, n int, headers ...string) (Answer, []Frame) {
	b.T.Helper()
	a, frames, err := b.TryStream(method, path, body, n, headers...)
	if err != nil {
		b.T.Fatalf("%s: the stream broke after %d frames: %v", a.Name, len(frames), err)
	}
	return a, frames
}

// TryStream is Stream, but returns an error if the stream broke.
func (b *Bridge) TryStream(method, path, body string, n int, headers ...string) (Answer, []Frame, error) {
	b.T.Helper()
	ctx, leave := context.WithTimeout(context.Background(), time.Minute)
	defer leave()
	req, err := b.request(ctx, method, path, body, headers...)
	if err != nil {
		b.T.Fatal(err)
	}
	res, err := PlainClient.Do(req)
	if err != nil {
		b.T.Fatal(err)
	}
	defer res.Body.Close()
	a := Answer{T: b.T, Name: method + " " + path, Status: res.StatusCode, Header: res.Header}
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		a.Body, _ = io.ReadAll(res.Body)
		return a, nil, nil
	}
	frames, err := ReadFrames(res.Body, n)
	return a, frames, err
}

// LastFrame returns the newest frame of a kind.
func LastFrame(t *testing.T, frames []Frame, event string) Frame {
	t.Helper()
	for i := len(frames) - 1; i >= 0; i-- {
		if frames[i].Event == event {
			return frames[i]
		}
	}
	t.Fatalf("no %s frame among %s", event, EventNames(frames))
	return Frame{}
}

// EventNames returns the names of the frames' events on one line.
func EventNames(frames []Frame) string {
	var names []string
	for _, f := range frames {
		names = append(names, f.Event)
	}
	return strings.Join(names, " ")
}

// Upload uploads a file like v1 clients.
func (b *Bridge) Upload(path, name, folder, content string) Answer {
	b.T.Helper()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, err := w.CreateFormFile("file", name)
	if err != nil {
		b.T.Fatal(err)
	}
	fmt.Fprint(part, content)
	if folder != "" {
		_ = w.WriteField("relative_path", folder)
	}
	_ = w.Close()
	return b.Do("POST", path, form.String(), "Content-Type", w.FormDataContentType())
}

// SameJSON compares two JSON texts by meaning.
func SameJSON(t *testing.T, what string, got, want []byte) {
	t.Helper()
	var g, w any
	if json.Unmarshal(got, &g) != nil || json.Unmarshal(want, &w) != nil || fmt.Sprint(g) != fmt.Sprint(w) {
		t.Errorf("%s differ:\n%s\n%s", what, got, want)
	}
}
