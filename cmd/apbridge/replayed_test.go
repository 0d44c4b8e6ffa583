package main

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/rogpeppe/go-internal/txtar"
)

// TestReplayedPython sends the requests of testdata/replayed/python.txtar, a
// conversation of the Python SDK, before agents of both kinds and compares all
// answers with what was written down.
func TestReplayedPython(t *testing.T) {
	t.Parallel()
	requests, err := txtar.ParseFile(filepath.Join("testdata", "replayed", "python.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for name, peer := range map[string]http.Handler{
		"step":  adaptertest.NewStepAgent(adaptertest.Plain),
		"graph": &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay(), secondPlay()}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &replay{b: inFront(t, peer), names: map[string]string{}}
			got := &txtar.Archive{Comment: []byte("Answers to python.txtar; headers that clients read, then the body.\n")}
			for _, part := range requests.Files {
				got.Files = append(got.Files, txtar.File{Name: part.Name, Data: []byte(r.send(t, part))})
			}
			checkGolden(t, filepath.Join("testdata", "replayed", "python-"+name+".txtar"), got)
		})
	}
}

// replay is a conversation under way.
type replay struct {
	b        *bridge
	captured []string          // {{NAME}} and its value in turns, for a replacer
	names    map[string]string // what ids are called in the answers
}

// pythonHeaders are those of every request. What is sent compressed to other
// clients would be to this one.
var pythonHeaders = []string{"Accept", "*/*", "Accept-Encoding", "gzip, deflate", "User-Agent", "langgraph-sdk-py/0.4.3"}

// readHeaders are those that SDKs read, and that say what an answer is.
var readHeaders = []string{"Content-Encoding", "Content-Location", "Content-Type", "Location", "Preference-Applied", "X-Pagination-Next", "X-Pagination-Total"}

func (r *replay) send(t *testing.T, part txtar.File) string {
	t.Helper()
	head, body, _ := strings.Cut(strings.NewReplacer(r.captured...).Replace(string(part.Data)), "\n\n")
	lines := strings.Split(strings.TrimSpace(head), "\n")
	method, path, _ := strings.Cut(lines[0], " ")
	headers, captures := append([]string(nil), pythonHeaders...), [][2]string{}
	for _, line := range lines[1:] {
		if take, ok := strings.CutPrefix(line, "capture "); ok {
			name, what, _ := strings.Cut(take, " ")
			captures = append(captures, [2]string{name, what})
		} else if name, value, ok := strings.Cut(line, ": "); ok {
			headers = append(headers, name, value)
		}
	}
	got := r.b.do(method, path, strings.TrimSpace(body), headers...)
	for _, c := range captures {
		value := got.header.Get(c[1])
		if value == "" {
			value = got.text(c[1])
		}
		r.captured = append(r.captured, "{{"+c[0]+"}}", value)
	}
	return r.shown(got)
}

// shown is an answer with ids and times as in the goldens of streams; an id has
// the same name throughout the conversation.
func (r *replay) shown(a answer) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%d %s\n", a.status, http.StatusText(a.status))
	for _, name := range readHeaders {
		if value := a.header.Get(name); value != "" {
			text.WriteString(name + ": " + value + "\n")
		}
	}
	text.WriteString("\n" + strings.TrimSpace(string(a.body)) + "\n")
	return plain(text.String(), r.names)
}
