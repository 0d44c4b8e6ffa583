package taskstep

import (
	"bytes"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// TestTopicGuide runs the commands of the guide to topics, line by line.
func TestTopicGuide(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join(rig.Root(t), "docs/topics.md"))
	if err != nil {
		t.Fatal(err)
	}
	b := startTopics(t)
	s := &shell{t: t, vars: map[string]string{}}
	lines := 0
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(raw), -1) {
		for _, line := range strings.Split(strings.TrimSpace(block[1]), "\n") {
			s.do(line)
			if s.vars["BRIDGE"] == "http://127.0.0.1:8080" {
				s.vars["BRIDGE"] = b.url
			}
			lines++
		}
	}
	if lines < 10 {
		t.Errorf("the guide has %d lines", lines)
	}
	topic := b.want(200, "GET", "/ap/v2/topics/"+s.vars["TOPIC"], "")
	if !strings.Contains(string(topic.Memory), `"diet":{"fish": true}`) {
		t.Errorf("the final topic: %s", topic.body)
	}
	steps := b.want(200, "GET", "/ap/v2/topics/"+s.vars["TOPIC"]+"/tasks/"+s.vars["TASK"]+"/steps", "").Steps
	if len(steps) != 3 || !strings.Contains(string(steps[0]), "budget.txt") || !strings.Contains(string(steps[2]), `"is_last":true`) {
		t.Errorf("the steps: %s", steps)
	}
}

// shell implements the parts of a shell, curl and jq that the guide uses.
type shell struct {
	t    *testing.T
	vars map[string]string
}

var assignment = regexp.MustCompile(`^([A-Z]+)=(.*)$`)

func (s *shell) do(line string) {
	s.t.Helper()
	m := assignment.FindStringSubmatch(line)
	if m == nil {
		s.curl(line)
		return
	}
	command, ok := strings.CutPrefix(m[2], "$(")
	if !ok {
		s.vars[m[1]] = m[2]
		return
	}
	command, field, ok := strings.Cut(strings.TrimSuffix(command, ")"), " | jq -r .")
	var answer map[string]any
	if err := json.Unmarshal(s.curl(command), &answer); err != nil || !ok {
		s.t.Fatalf("%s: %v", line, err)
	}
	s.vars[m[1]], _ = answer[field].(string)
}

// words splits a command: single quotes keep everything, $NAME is replaced outside of them.
func (s *shell) words(line string) (words []string) {
	word, quoted, open := "", false, false
	expand := func(text string) string { return os.Expand(text, func(name string) string { return s.vars[name] }) }
	plain := ""
	flush := func() { word, plain = word+expand(plain), "" }
	for _, c := range line {
		switch {
		case c == '\'':
			flush()
			quoted, open = !quoted, true
		case quoted:
			word += string(c)
		case c == ' ':
			if flush(); word != "" || open {
				words, word, open = append(words, word), "", false
			}
		default:
			plain += string(c)
		}
	}
	flush()
	return append(words, word)
}

func (s *shell) curl(line string) []byte {
	s.t.Helper()
	words := s.words(line)
	if words[0] != "curl" {
		s.t.Fatalf("not a curl line: %s", line)
	}
	method, kind, url := "GET", "", ""
	var body io.Reader
	for i := 1; i < len(words); i++ {
		switch words[i] {
		case "-s":
		case "-X":
			i++
			method = words[i]
		case "-H":
			i++
			_, kind, _ = strings.Cut(words[i], ": ")
		case "-d":
			i++
			body = strings.NewReader(words[i])
		case "--json":
			i++
			method, kind, body = "POST", "application/json", strings.NewReader(words[i])
		case "-F":
			i++
			method = "POST"
			body, kind = fileForm(words[i])
		default:
			url = words[i]
		}
	}
	return s.send(line, method, url, kind, body)
}

// fileForm returns the form of -F file=@NAME, with generated contents.
func fileForm(field string) (io.Reader, string) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	name, file, _ := strings.Cut(field, "=@")
	part, err := w.CreateFormFile(name, file)
	if err == nil {
		_, err = io.WriteString(part, "1000")
	}
	if err != nil || w.Close() != nil {
		panic("a form in memory cannot fail")
	}
	return &b, w.FormDataContentType()
}

func (s *shell) send(line, method, url, kind string, body io.Reader) []byte {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, url, body)
	if err != nil {
		s.t.Fatal(err)
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode/100 != 2 {
		s.t.Fatalf("%s: %d %s, %v", line, res.StatusCode, answer, err)
	}
	return answer
}
