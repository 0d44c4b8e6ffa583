package protocol

import (
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
)

// A graph names an event with the name in what it writes; its payload stands in the event as it was written.
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
				t.Errorf("%s is told as %q", written, got)
			}
			all := string(told(t, w, filter{channels: []string{channelCustom}, depth: -1}, spelling))
			if want == "" && !strings.Contains(all, written) || !strings.Contains(all, want) {
				t.Errorf("%s is told as %q to a reader of all", written, all)
			}
		}
	}
}
