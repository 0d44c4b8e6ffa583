package face

import (
	"bytes"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the golden files")

var scripts = map[string]func(mapping.Run) []mapping.Event{
	"two-steps": twoSteps, "question": question, "failure": failure, "graph": graphRun,
}

// shownHeaders lists the headers on which clients rely.
var shownHeaders = []string{"Allow", "Cache-Control", "Content-Location", "Content-Type", "Location", "X-Apbridge-Unsupported", "X-Pagination-Next", "X-Pagination-Total"}

// TestGolden plays recorded exchanges. Each archive has requests followed by their responses, and its comment names the
// script of its runs.
func TestGolden(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/golden/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no golden files", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			golden(t, file)
		})
	}
}

func golden(t *testing.T, file string) {
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	f := newFake()
	f.prepare(string(a.Comment))
	srv := f.serve(t)
	var out []txtar.File
	for _, part := range a.Files {
		if part.Name == "reply" {
			continue
		}
		got := exchange(t, srv.URL, string(part.Data))
		out = append(out, part, txtar.File{Name: "reply", Data: []byte(got)})
	}
	if *update {
		write(t, file, txtar.Format(&txtar.Archive{Comment: a.Comment, Files: out}))
		return
	}
	if d := cmp.Diff(string(txtar.Format(a)), string(txtar.Format(&txtar.Archive{Comment: a.Comment, Files: out}))); d != "" {
		t.Error(d)
	}
}

func write(t *testing.T, file string, data []byte) {
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// prepare reads lines like "script: question" and "thread: <values>".
func (f *fake) prepare(comment string) {
	for line := range strings.Lines(comment) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "script":
			f.script = scripts[value]
		case "thread":
			f.addThread(uuid(500), value)
		case "asking":
			t := f.addThread(uuid(500), `{"messages":[]}`)
			t.Status, t.Head = mapping.ThreadInterrupted, uuid(51)
			t.Interrupts = []mapping.Interrupt{{ID: uuid(60), Value: raw(value), Task: uuid(70)}}
			f.threads[t.ID] = t
		case "losses":
			f.losses = []mapping.Loss{{Field: "durability", Fate: mapping.Dropped}, {Field: value, Fate: mapping.Approximated}}
		case "run":
			f.addRun(mapping.Run{ID: uuid(600), ThreadID: uuid(500), Agent: value, AssistantID: mapping.AssistantID(value),
				Status: mapping.RunRunning, Metadata: raw(`{}`), Kwargs: raw(`{}`), CreatedAt: at, UpdatedAt: at}, -1)
		}
	}
}

// exchange sends "METHOD /path", header lines, an empty line and the body.
func exchange(t *testing.T, base, text string) string {
	t.Helper()
	head, body, _ := strings.Cut(text, "\n\n")
	lines := strings.Split(strings.TrimSpace(head), "\n")
	method, path, _ := strings.Cut(lines[0], " ")
	req, err := http.NewRequest(method, base+path, strings.NewReader(strings.TrimSpace(body)))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lines[1:] {
		k, v, _ := strings.Cut(l, ":")
		req.Header.Set(k, strings.TrimSpace(v))
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	return shownReply(t, res)
}

func shownReply(t *testing.T, res *http.Response) string {
	var b strings.Builder
	b.WriteString(res.Status + "\n")
	for k := range res.Header {
		if !slices.Contains(shownHeaders, k) {
			delete(res.Header, k)
		}
	}
	_ = res.Header.Write(&crlf{&b})
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	b.WriteString("\n")
	b.Write(bytes.Replace(body, compatibility, []byte("[…]"), 1)) // its contents depend on a test run
	if !strings.HasSuffix(b.String(), "\n") {
		b.WriteString("\n")
	}
	return b.String()
}

// crlf drops the CR of header lines.
type crlf struct{ w io.Writer }

func (c *crlf) Write(p []byte) (int, error) {
	_, err := c.w.Write([]byte(strings.ReplaceAll(string(p), "\r", "")))
	return len(p), err
}
