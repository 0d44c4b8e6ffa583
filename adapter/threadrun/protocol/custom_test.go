package protocol

import (
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
)

// A frame whose name is not a channel is a custom event with that name, as on LangGraph's server. Modes that the
// protocol does not have are dropped.
func TestAFrameOfAnotherNameIsACustomEvent(t *testing.T) {
	t.Parallel()
	w := newWorld().play(runOf(1, "graph"), started(), chunk("a2a", `{"kind":"task"}`), chunk("a2a", `1`, "sub:1"),
		chunk("debug", `{}`), chunk("events", `{}`), chunk("messages/partial", `[]`), chunk("messages", `{}`), succeeded())
	got := string(told(t, w, filter{channels: []string{"custom:a2a"}, depth: -1}, Snake))
	for _, want := range []string{`"namespace":[],`, `"data":{"name":"a2a","payload":{"kind":"task"}}`, `"namespace":["sub:1"],`, `"data":{"name":"a2a","payload":1}`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
	if all := string(told(t, w, filter{channels: []string{channelCustom}, depth: -1}, Snake)); all != got {
		t.Errorf("a reader of all events receives %s", all)
	}
}

// The output of a graph can name a custom event. The payload is unchanged.
func TestAWriterNamesACustomEvent(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]string{
		`{"name":"score","payload":{"a":1}}`:    `"data":{"name":"score","payload":{"a":1}}`,
		`{"name":"score","payload":null,"a":1}`: `"data":{"name":"score","payload":null,"a":1}`,
		`{"name":"score","a":1}`:                "",
		`{"name":"other","payload":1}`:          "",
		`{"name":1,"payload":1}`:                "",
		`{"name":"","payload":1}`:               "",
		`["name"]`:                              "",
		`"score"`:                               "",
	} {
		w := newWorld().play(runOf(1, "graph"), started(), mapping.Event{Kind: mapping.KindCustom, Data: raw(written)}, succeeded())
		for _, spelling := range []Spelling{Snake, Camel} {
			got := string(told(t, w, filter{channels: []string{"custom:score"}, depth: -1}, spelling))
			if (got == "") != (want == "") || !strings.Contains(got, want) {
				t.Errorf("%s is emitted as %q", written, got)
			}
			all := string(told(t, w, filter{channels: []string{channelCustom}, depth: -1}, spelling))
			if want == "" && !strings.Contains(all, written) || !strings.Contains(all, want) {
				t.Errorf("%s is emitted as %q to a reader of all events", written, all)
			}
		}
	}
}
