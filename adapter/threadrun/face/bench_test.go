package face

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/threadrun/face/render"
	"github.com/apbridge/apbridge/mapping"
)

// chatState is a state of n messages of 300 bytes.
func chatState(n int) json.RawMessage {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,{"content":%q,"additional_kwargs":{},"response_metadata":{},"id":"m%d","type":"ai","tool_calls":[],"invalid_tool_calls":[]}`, strings.Repeat("x", 150), i)
	}
	return json.RawMessage(`{"messages":[` + b.String()[1:] + `]}`)
}

func BenchmarkRunAnswer(b *testing.B) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)
	run := &mapping.Run{
		ID: "1f1e5690-23fd-62e0-8000-000000000001", ThreadID: "1f1e5690-23fd-62e0-8000-000000000002", AssistantID: "1f1e5690-23fd-62e0-8000-000000000003",
		Agent: "a", Status: mapping.RunSuccess, Metadata: json.RawMessage(`{"a":1}`), Kwargs: json.RawMessage(`{"input":{"messages":[{"role":"user","content":"hello"}]}}`),
		CreatedAt: at, UpdatedAt: at, Flavour: render.FlavourAgentProtocol,
	}
	b.ReportAllocs()
	for b.Loop() {
		a := newAnswer(httptest.NewRecorder())
		render.Run(&a.Writer, run, true)
		a.sendRest()
	}
}

func BenchmarkThreadAnswer(b *testing.B) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)
	for _, n := range []int{4, 400} {
		b.Run(fmt.Sprintf("messages=%d", n), func(b *testing.B) {
			thread := mapping.Thread{
				ID: "1f1e5690-23fd-62e0-8000-000000000002", Status: mapping.ThreadIdle, Metadata: json.RawMessage(`{"a":1}`), CreatedAt: at, UpdatedAt: at,
				Values: chatState(n), Interrupts: []mapping.Interrupt{{ID: "i", Value: json.RawMessage(`"go on?"`)}},
			}
			b.ReportAllocs()
			for b.Loop() {
				a := newAnswer(httptest.NewRecorder())
				if err := render.Thread(&a.Writer, thread, render.ThreadParts{Messages: true}); err != nil {
					b.Fatal(err)
				}
				a.sendRest()
			}
		})
	}
}
