package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/inspect/timeline"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
)

// TestCallsInAnArchive: text is text, other bytes are in base64, a body that was cut says so, and a call that is kept
// no longer is left out.
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
	if err := HAR(&out, "1", []adapter.AgentCall{{N: 1}, {N: 2}, {N: 3}}, get); err != nil {
		t.Fatal(err)
	}
	var got archive
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), `"startedDateTime"`); n != 2 {
		t.Errorf("%d calls", n)
	}
	for _, want := range []string{
		`"time":1.5`, `"text":"{\"a\":\"<ü>\"}"`, `"text":"/wA=","encoding":"base64"`, `{"name":"x","value":"2"}`,
		`reset; only the first bytes of a long body are kept`, `"text":"data: x"`,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s is not in %s", want, &out)
		}
	}
}

// TestACallThatCannotBeReadFailsTheExport: a file that lacks a call for a fault of the database does not pass for
// whole.
func TestACallThatCannotBeReadFailsTheExport(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk")
	get := func(int64) (adapter.AgentCall, error) { return adapter.AgentCall{}, broken }
	none := func(func(*state.Entry, [][]adapter.Frame) bool) error { return nil }
	calls := []adapter.AgentCall{{N: 1}}
	if err := HAR(&bytes.Buffer{}, "1", calls, get); !errors.Is(err, broken) {
		t.Errorf("archive: %v", err)
	}
	if err := Lines(&bytes.Buffer{}, mapping.Principal{}, &timeline.Axis{}, none, calls, get); !errors.Is(err, broken) {
		t.Errorf("lines: %v", err)
	}
}
