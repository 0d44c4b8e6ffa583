package render

import (
	"encoding/json"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/google/go-cmp/cmp"
)

func TestPartials(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		chunks []string
		want   string
	}{
		{"text", []string{`{"id":"m","type":"ai","content":"a\""}`, `{"id":"m","type":"ai","content":"\u00e9","usage":{"n":1}}`},
			`{"id":"m","type":"ai","content":"a\"é","usage":{"n":1}}`},
		{"a whole message", []string{`{"type":"tool","content":"x","id":"m","tool_call_id":"c"}`}, `{"type":"tool","content":"x","id":"m","tool_call_id":"c"}`},
		{"blocks", []string{`{"id":"m","content":[{"type":"text","text":"a","index":0}]}`, `{"id":"m","content":[{"type":"text","text":"b","index":0},{"type":"image","index":1}]}`},
			`{"id":"m","content":[{"type":"text","text":"ab","index":0},{"type":"image","index":1}]}`},
		{"tool calls", []string{
			`{"id":"m","content":"","tool_call_chunks":[{"name":"f","args":"{\"a","id":"c","index":0}]}`,
			`{"id":"m","content":"","tool_call_chunks":[{"name":null,"args":"\":1}","id":null,"index":0}]}`,
			`{"id":"m","content":"","tool_call_chunks":[],"tool_calls":[]}`,
		}, `{"id":"m","content":"","tool_call_chunks":[{"name":"f","args":"{\"a\":1}","id":"c","index":0}],"tool_calls":[]}`},
	} {
		p := newPartials()
		for i, chunk := range c.chunks {
			e := &state.Entry{Event: mapping.Event{Seq: int64(i + 1), Kind: mapping.KindDelta, Data: json.RawMessage(`[` + chunk + `,{}]`)}}
			if id, first := p.add(e); id != "m" || first != (i == 0) {
				t.Errorf("%s: chunk %d: %q %v", c.name, i, id, first)
			}
			p.add(e) // a repeated event is ignored
		}
		if d := cmp.Diff(c.want, string(p.message("m"))); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}

func TestPartialsIgnoreChunksWithoutID(t *testing.T) {
	t.Parallel()
	for _, data := range []string{`[{"content":"x"},{}]`, `[]`, `{}`, `null`, `[1,2]`, ``} {
		p := newPartials()
		if id, _ := p.add(&state.Entry{Event: mapping.Event{Seq: 1, Data: json.RawMessage(data)}}); id != "" {
			t.Errorf("%s: id %q", data, id)
		}
	}
}
