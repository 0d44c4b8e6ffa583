package face

import (
	"bytes"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the answers in testdata from what the face says now")

// TestConversations plays testdata/face_*.txtar: a file for each request, followed by a file with its response, byte
// for byte. {1} in a request stands for the first id that the fake created, {2} for the second, and so on.
func TestConversations(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("testdata/face_*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal("no conversations", err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			playConversation(t, name)
		})
	}
}

func playConversation(t *testing.T, name string) {
	want, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, newFake())
	got := &txtar.Archive{Comment: want.Comment}
	for _, file := range want.Files {
		request, ok := strings.CutSuffix(file.Name, " >")
		if !ok {
			continue
		}
		got.Files = append(got.Files, file, txtar.File{Name: request + " <", Data: dump(s.send(parseRequest(t, s.url, file.Data)))})
	}
	if len(got.Files) == 0 {
		t.Fatal("no requests in " + name)
	}
	if *update {
		if err := os.WriteFile(name, txtar.Format(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(txtar.Format(want)), string(txtar.Format(got))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

var idPattern = regexp.MustCompile(`\{(\d+)\}`)

// parseRequest reads a request in the form of HTTP/1.1, with LF for CRLF.
func parseRequest(t *testing.T, server string, data []byte) *http.Request {
	t.Helper()
	text := idPattern.ReplaceAllStringFunc(string(data), func(n string) string {
		return fmt.Sprintf("00000000-0000-4000-8000-%012s", strings.Trim(n, "{}"))
	})
	head, body, _ := strings.Cut(text, "\n\n")
	lines := strings.Split(strings.TrimSuffix(head, "\n"), "\n")
	method, path, _ := strings.Cut(lines[0], " ")
	body = strings.TrimSuffix(body, "\n")
	if strings.Contains(head, "multipart/") {
		body = strings.ReplaceAll(body, "\n", "\r\n")
	}
	req, err := http.NewRequestWithContext(t.Context(), method, server+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Set(name, value)
	}
	return req
}

// dump writes status, headers in order and body. A line break after the body makes it readable.
func dump(a gotten) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%d %s\n", a.status, http.StatusText(a.status))
	var lines []string
	for name, values := range a.header {
		if name != "Date" {
			lines = append(lines, name+": "+strings.Join(values, ", "))
		}
	}
	slices.Sort(lines)
	fmt.Fprintf(&b, "%s\n\n%s", strings.Join(lines, "\n"), a.body)
	if !strings.HasSuffix(a.body, "\n") {
		b.WriteByte('\n')
	}
	return b.Bytes()
}
