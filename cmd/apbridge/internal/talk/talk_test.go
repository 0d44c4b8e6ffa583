package talk

import (
	"bytes"
	"testing"

	"github.com/apbridge/apbridge/adapter/sse"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/google/go-cmp/cmp"
)

var updates = []string{
	`{"plan":{"messages":[{"type":"ai","content":"I look it up.","tool_calls":[{"id":"1","name":"search","args":{"q":"bridge"}},{"id":"2","name":"clock","args":{}}]}]}}`,
	`{"tools":{"messages":[{"type":"tool","tool_call_id":"1","content":"a bridge\u001b[2J"},{"type":"tool","name":"clock","tool_call_id":"2","content":"noon"}]}}`,
	`{"finish":{"messages":[{"role":"assistant","name":"writer","content":"Done"}]}}`,
	`{"count":{"n":1}}`,
}

// TestLinesAreLabelled checks that lines are labelled with the speaker, the called tool or the responding tool. Labels
// are coloured only on a terminal without NO_COLOR, where the agent's own sequences have no effect.
func TestLinesAreLabelled(t *testing.T) {
	t.Parallel()
	const plain = "plan: I look it up.\ntool search: {\"q\":\"bridge\"}\ntool clock: {}\ntool search → a bridge\x1b[2J\ntool clock → noon\nwriter: Done\ncount: {\"n\":1}\n"
	const shown = "plan: I look it up.\ntool search: {\"q\":\"bridge\"}\ntool clock: {}\ntool search → a bridge\\u001b[2J\ntool clock → noon\nwriter: Done\ncount: {\"n\":1}\n"
	const coloured = "\x1b[32mplan: \x1b[0mI look it up.\n\x1b[33mtool search: \x1b[0m{\"q\":\"bridge\"}\n\x1b[33mtool clock: \x1b[0m{}\n" +
		"\x1b[33mtool search → \x1b[0ma bridge\\u001b[2J\n\x1b[33mtool clock → \x1b[0mnoon\n\x1b[32mwriter: \x1b[0mDone\n\x1b[32mcount: \x1b[0m{\"n\":1}\n"
	for _, x := range []struct {
		terminal bool
		environ  []string
		want     string
	}{{false, nil, plain}, {true, nil, coloured}, {true, []string{"NO_COLOR=1"}, shown}, {true, []string{"TERM=dumb"}, shown}, {true, []string{"NO_COLOR="}, coloured}} {
		var out bytes.Buffer
		p := &Printer{Out: &out, Environ: x.environ}
		if x.terminal {
			p.Out = console.TerminalOf(&out)
		}
		for _, data := range updates {
			if err := p.Event(sse.Event{Name: "updates", Data: []byte(data)}); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(x.want, out.String()); diff != "" {
			t.Errorf("a terminal: %t, %v (-want +got):\n%s", x.terminal, x.environ, diff)
		}
	}
}
