package render

import (
	"encoding/json"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
)

func BenchmarkPartial(b *testing.B) {
	entries := make([]*state.Entry, 100)
	for i := range entries {
		entries[i] = &state.Entry{Event: mapping.Event{Kind: mapping.KindDelta, Seq: int64(i + 1),
			Data: json.RawMessage(`[{"content":"token ","additional_kwargs":{},"response_metadata":{},"type":"AIMessageChunk","id":"m","tool_calls":[]},{"langgraph_node":"agent"}]`)}}
	}
	b.ReportAllocs()
	for b.Loop() {
		p := newPartials()
		for _, e := range entries {
			id, _ := p.add(e)
			p.message(id)
		}
	}
}
