package inspect

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// Text stays text, other bytes become base64, a truncated body is marked, and a dropped call is omitted.
func TestCallsInAnArchive(t *testing.T) {
	t.Parallel()
	calls := map[int64]adapter.AgentCall{
		1: {N: 1, Method: "POST", URL: "http://agent/a?x=1&x=2", Status: 200, Took: 1500 * time.Microsecond,
			Sent:     adapter.CallPart{Header: map[string]string{"Content-Type": "application/json"}, Body: []byte(`{"a":"<ü>"}`), Size: 12, Kept: 12},
			Received: adapter.CallPart{Body: []byte{0xff, 0}, Size: 2, Kept: 2}},
		2: {N: 2, Method: "GET", URL: "http://agent/%zz", Error: "reset", Received: adapter.CallPart{Body: []byte("data: x"), Size: 1000, Kept: 7}},
	}
	get := func(n int64) (adapter.AgentCall, error) {
		if c, ok := calls[n]; ok {
			return c, nil
		}
		return adapter.AgentCall{}, mapping.Errorf(mapping.NotFound, mapping.CodeItemNotFound, "dropped")
	}
	var out bytes.Buffer
	if err := writeHAR(&out, "1", []adapter.AgentCall{{N: 1}, {N: 2}, {N: 3}}, get); err != nil {
		t.Fatal(err)
	}
	var got har
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), `"startedDateTime"`); n != 2 {
		t.Errorf("%d calls", n)
	}
	for _, want := range []string{
		`"time":1.5`, `"text":"{\"a\":\"<ü>\"}"`, `"text":"/wA=","encoding":"base64"`, `{"name":"x","value":"2"}`,
		`reset; only the beginning of a long body is kept`, `"text":"data: x"`,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s is not in %s", want, &out)
		}
	}
}

// A file without a call that could not be read must not look complete.
func TestACallThatCannotBeReadFailsTheExport(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk")
	get := func(int64) (adapter.AgentCall, error) { return adapter.AgentCall{}, broken }
	a, err := newAxis(t.Context(), &longLog{}, nil, adapter.RunRef{RunID: "r"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	calls := []adapter.AgentCall{{N: 1}}
	if err := writeHAR(&bytes.Buffer{}, "1", calls, get); !errors.Is(err, broken) {
		t.Errorf("archive: %v", err)
	}
	if err := writeLines(t.Context(), &bytes.Buffer{}, a, calls, get); !errors.Is(err, broken) {
		t.Errorf("lines: %v", err)
	}
}

// harForm has the members of each object of HTTP Archive 1.2, by the name of the object. Optional ones end with "?".
var harForm = map[string]string{
	"":            "log",
	"log":         "version creator browser? pages? entries comment?",
	"creator":     "name version comment?",
	"entries":     "pageref? startedDateTime time request response cache timings serverIPAddress? connection? comment?",
	"request":     "method url httpVersion cookies headers queryString postData? headersSize bodySize comment?",
	"response":    "status statusText httpVersion cookies headers content redirectURL headersSize bodySize comment?",
	"headers":     "name value comment?",
	"postData":    "mimeType params text comment?",
	"content":     "size compression? mimeType text? encoding? comment?",
	"cache":       "beforeRequest? afterRequest? comment?",
	"timings":     "blocked? dns? connect? send wait receive ssl? comment?",
	"cookies":     "name value",
	"params":      "name value",
	"queryString": "name value comment?",
}

// checkForm checks that objects have their required members and no unknown ones without an underscore.
func checkForm(t *testing.T, at string, value any) {
	t.Helper()
	switch v := value.(type) {
	case []any:
		for _, one := range v {
			checkForm(t, at, one)
		}
	case map[string]any:
		form := strings.Fields(harForm[at])
		for _, name := range form {
			if _, there := v[name]; !there && !strings.HasSuffix(name, "?") {
				t.Errorf("%s has no %s: %v", at, name, v)
			}
		}
		for name, below := range v {
			if !strings.HasPrefix(name, "_") && !slices.Contains(form, name) && !slices.Contains(form, name+"?") {
				t.Errorf("%s has %s, which the format does not define", at, name)
			}
			checkForm(t, name, below)
		}
	}
}

// The calls have no body, text and binary bodies, and a response or none.
func TestArchiveFormat(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	bytesOf := adapter.CallPart{Header: map[string]string{"Content-Type": "application/octet-stream"}, Body: []byte{0xff, 0}, Size: 2, Kept: 2}
	calls := map[int64]adapter.AgentCall{
		1: {N: 1, At: at, Method: "GET", URL: "http://agent/a?x=1&x=2", Status: 200},
		2: {N: 2, At: at, Method: "POST", URL: "http://agent/b", Status: 201, Sent: bytesOf, Received: bytesOf},
		3: {N: 3, At: at, Method: "POST", URL: "http://agent/b", Error: "reset", Sent: bytesOf},
	}
	var out bytes.Buffer
	err := writeHAR(&out, "1", []adapter.AgentCall{{N: 1}, {N: 2}, {N: 3}}, func(n int64) (adapter.AgentCall, error) { return calls[n], nil })
	if err != nil {
		t.Fatal(err)
	}
	var got any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	checkForm(t, "", got)
	if n := strings.Count(out.String(), `"_encoding":"base64"`); n != 2 {
		t.Errorf("%d of the sent bodies are marked as base64: %s", n, &out)
	}
}
