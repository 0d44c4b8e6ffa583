package agent

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

func TestAddress(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"http://h:1": "http://h:1", "http://h:1/": "http://h:1", "http://h/ap/v1": "http://h", "http://h/ap/v1/agent/tasks": "http://h",
		"https://h/agents/graph": "https://h/agents/graph", "http://h/agents/graph/ap/v1/": "http://h/agents/graph",
		"h:1": "", "": "", "/x": "", "http://u:p@h": "", "http://h?key=x": "", "http://h#x": "",
	} {
		if got, err := Address(in); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v, want %q", in, got, err, want)
		}
	}
}

func TestPath(t *testing.T) {
	t.Parallel()
	folder := func(s string) *string { return &s }
	for _, x := range []struct {
		file   string
		folder *string
		want   string
	}{
		{"a.txt", nil, "a.txt"}, {"a.txt", folder(""), "a.txt"}, {"a.txt", folder("."), "a.txt"}, {"a.txt", folder("in"), "in/a.txt"},
		{"a.txt", folder("in/a.txt"), "in/a.txt"}, {"a.txt", folder("/in/"), "in/a.txt"}, {"a.txt", folder("../.."), "../../a.txt"},
	} {
		if got := (Artifact{FileName: x.file, Folder: x.folder}).Path(); got != x.want {
			t.Errorf("%q in %v: %q, want %q", x.file, x.folder, got, x.want)
		}
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{}`:                           `{}`,
		`{"task_cumulative_cost":0.5}`: `{"cost":0.5}`,
		`{"task_total_cost":"a lot"}`:  `{}`,
		`{"usage_metadata":{}}`:        `{}`,
		`{"usage_metadata":"none"}`:    `{}`,
		`{"a":[{"usage_metadata":{"total_tokens":5,"input_tokens":1}},{"b":{"usage_metadata":{"input_tokens":2,"output_tokens":1}}}]}`: `{"tokens":8}`,
	} {
		var u Usage
		u.Add(json.RawMessage(in))
		if got, err := json.Marshal(u); string(got) != want || err != nil {
			t.Errorf("%s: %s, %v, want %s", in, got, err, want)
		}
	}
}

// Any response is read or refused.
func FuzzStep(f *testing.F) {
	f.Add([]byte(`{"step_id":"1","task_id":"2","status":"completed","artifacts":[],"additional_output":{"error":{"message":"x"},"usage_metadata":{"total_tokens":1}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := parseStep(raw)
		if err == nil && !json.Valid(s.Raw) {
			t.Errorf("taken: %q", raw)
		}
		new(Usage).Add(s.Additional)
	})
}

// A redirect to another server does not get the key.
func TestKeyStaysWithItsServer(t *testing.T) {
	t.Parallel()
	for name, keyed := range map[string]bool{"another server": false, "the same server": true} {
		var heard []string
		answer := func(w http.ResponseWriter, r *http.Request) {
			heard = append(heard, r.Header.Get("X-Api-Key"))
			_, _ = io.WriteString(w, `{"tasks":[]}`)
		}
		other := httptest.NewServer(http.HandlerFunc(answer))
		defer other.Close()
		asked := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/moved":
				answer(w, r)
			case keyed:
				http.Redirect(w, r, "/moved", http.StatusTemporaryRedirect)
			default:
				http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
			}
		}))
		defer asked.Close()
		c := &Client{Base: asked.URL, Key: "secret", Patience: time.Minute, HTTP: &http.Client{}}
		want := map[bool]string{true: "secret"}[keyed]
		if err := c.Probe(t.Context()); err != nil || len(heard) != 1 || heard[0] != want {
			t.Errorf("%s heard the keys %q, %v; want %q", name, heard, err, want)
		}
	}
}
