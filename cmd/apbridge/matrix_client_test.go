package main

import (
	"bytes"
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

// answer is what came back for one request.
type answer struct {
	t      *testing.T
	name   string // of the request, for messages
	status int
	header http.Header
	body   []byte
}

var plainClient = &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// do sends a request; a body that is not empty is JSON unless headers, given
// as name and value in turns, say otherwise.
func (b *bridge) do(method, path, body string, headers ...string) answer {
	b.t.Helper()
	a, err := b.try(context.Background(), method, path, body, headers...)
	if err != nil {
		b.t.Fatalf("%s %s: %v", method, path, err)
	}
	return a
}

func (b *bridge) try(ctx context.Context, method, path, body string, headers ...string) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, b.url+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header[http.CanonicalHeaderKey(headers[i])] = []string{headers[i+1]}
	}
	res, err := plainClient.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err == nil {
		b.judge.check(b.t, method, path, res.StatusCode, res.Header, raw)
	}
	return answer{t: b.t, name: method + " " + path, status: res.StatusCode, header: res.Header, body: raw}, err
}

func (b *bridge) get(path string) answer        { b.t.Helper(); return b.do("GET", path, "") }
func (b *bridge) post(path, body string) answer { b.t.Helper(); return b.do("POST", path, body) }

// ok fails the test unless the request was answered with 2xx.
func (a answer) ok() answer {
	a.t.Helper()
	if a.status/100 != 2 {
		a.t.Fatalf("%s answered %d: %.500s", a.name, a.status, a.body)
	}
	return a
}

// is fails the test unless the status is as given.
func (a answer) is(status int) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("%s answered %d, want %d: %.500s", a.name, a.status, status, a.body)
	}
	return a
}

// at is what stands at a path like "messages.0.content"; nil for nothing.
func (a answer) at(path string) any {
	a.t.Helper()
	var v any
	if err := json.Unmarshal(a.body, &v); err != nil {
		a.t.Fatalf("%s answered no JSON (%v): %.300s", a.name, err, a.body)
	}
	return dig(v, path)
}

// text is at for strings.
func (a answer) text(path string) string {
	a.t.Helper()
	s, ok := a.at(path).(string)
	if !ok {
		a.t.Fatalf("%s: %s is %v, not a string, in %.500s", a.name, path, a.at(path), a.body)
	}
	return s
}

func (a answer) list(path string) []any {
	a.t.Helper()
	list, _ := a.at(path).([]any)
	return list
}

func dig(v any, path string) any {
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

// pluck is one field of every element of a list.
func pluck(list []any, path string) []any {
	out := make([]any, 0, len(list))
	for _, v := range list {
		out = append(out, dig(v, path))
	}
	return out
}

// frame is one frame of an event stream.
type frame struct{ id, event, data string }

func (f frame) at(path string) any {
	var v any
	_ = json.Unmarshal([]byte(f.data), &v)
	return dig(v, path)
}

// readFrames reads an event stream as the HTML Standard has it, up to its end
// or the nth frame where n is above 0.
func readFrames(r io.Reader, n int) ([]frame, error) {
	var list []frame
	var f frame
	lines := newLineReader(r)
	for {
		line, err := lines.next()
		if err == io.EOF {
			return list, nil
		} else if err != nil {
			return list, err
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "" && (f.event != "" || f.data != ""):
			if list = append(list, f); len(list) == n {
				return list, nil
			}
			f = frame{}
		case name == "id":
			f.id = value
		case name == "event":
			f.event = value
		case name == "data":
			f.data += value
		}
	}
}

type lineReader struct {
	r   io.Reader
	buf []byte
}

func newLineReader(r io.Reader) *lineReader { return &lineReader{r: r} }

func (l *lineReader) next() (string, error) {
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

// stream reads a whole event stream, or its first n frames and then leaves.
func (b *bridge) stream(method, path, body string, n int, headers ...string) (answer, []frame) {
	b.t.Helper()
	a, frames, err := b.tryStream(method, path, body, n, headers...)
	if err != nil {
		b.t.Fatalf("%s: the stream broke after %d frames: %v", a.name, len(frames), err)
	}
	return a, frames
}

// tryStream is stream that tells when the stream broke.
func (b *bridge) tryStream(method, path, body string, n int, headers ...string) (answer, []frame, error) {
	b.t.Helper()
	ctx, leave := context.WithTimeout(context.Background(), 30*time.Second)
	defer leave()
	req, err := http.NewRequestWithContext(ctx, method, b.url+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header[http.CanonicalHeaderKey(headers[i])] = []string{headers[i+1]}
	}
	res, err := plainClient.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	a := answer{t: b.t, name: method + " " + path, status: res.StatusCode, header: res.Header}
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		a.body, _ = io.ReadAll(res.Body)
		return a, nil, nil
	}
	frames, err := readFrames(res.Body, n)
	return a, frames, err
}

// lastFrame is the newest frame of a kind.
func lastFrame(t *testing.T, frames []frame, event string) frame {
	t.Helper()
	for i := len(frames) - 1; i >= 0; i-- {
		if frames[i].event == event {
			return frames[i]
		}
	}
	t.Fatalf("no %s frame among %s", event, eventNames(frames))
	return frame{}
}

func eventNames(frames []frame) string {
	var names []string
	for _, f := range frames {
		names = append(names, f.event)
	}
	return strings.Join(names, " ")
}

// upload sends a file as v1 clients do.
func (b *bridge) upload(path, name, folder, content string) answer {
	b.t.Helper()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, err := w.CreateFormFile("file", name)
	if err != nil {
		b.t.Fatal(err)
	}
	fmt.Fprint(part, content)
	if folder != "" {
		_ = w.WriteField("relative_path", folder)
	}
	_ = w.Close()
	return b.do("POST", path, form.String(), "Content-Type", w.FormDataContentType())
}

// same compares two JSON texts by meaning.
func same(t *testing.T, what string, got, want []byte) {
	t.Helper()
	var g, w any
	if json.Unmarshal(got, &g) != nil || json.Unmarshal(want, &w) != nil || fmt.Sprint(g) != fmt.Sprint(w) {
		t.Errorf("%s differ:\n%s\n%s", what, got, want)
	}
}
