package state

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// chat returns a fold of n messages of 300 bytes, built message by message.
func chat(b *testing.B, n int) *Fold {
	f := mustFold(b, `{}`)
	for i := range n {
		var err error
		if f, err = f.Reduce(chatDelta(i)); err != nil {
			b.Fatal(err)
		}
	}
	return f
}

func chatDelta(i int) json.RawMessage {
	return raw(fmt.Sprintf(`{"messages":[%s]}`, said(fmt.Sprint("message ", i), strings.Repeat("x", 150))))
}

func BenchmarkReduce(b *testing.B) {
	for _, n := range []int{4, 1000} {
		for _, write := range []bool{false, true} {
			b.Run(fmt.Sprintf("messages=%d/json=%v", n, write), func(b *testing.B) {
				var deltas []json.RawMessage
				for i := range 16 {
					deltas = append(deltas, chatDelta(n+i))
				}
				b.ReportAllocs()
				// Each round appends to the newest fold, like a run. After sixteen rounds it starts over.
				next, rounds := chat(b, n), 0
				for b.Loop() {
					if rounds == len(deltas) {
						b.StopTimer()
						next, rounds = chat(b, n), 0
						b.StartTimer()
					}
					var err error
					if next, err = next.Reduce(deltas[rounds]); err != nil {
						b.Fatal(err)
					}
					rounds++
					if write {
						_ = next.JSON()
					}
				}
			})
		}
	}
}

func BenchmarkDiffTo(b *testing.B) {
	before := bigState(54_000)
	grown := raw(strings.TrimSuffix(before, "]}") + "," + said("new", "x") + "]}")
	b.Run("one more message on 54 kB", func(b *testing.B) {
		f := mustFold(b, before)
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := f.DiffTo(grown); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("from nothing to 54 kB", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := NewFold(grown); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func said(id, text string) string {
	return fmt.Sprintf(`{"content":%q,"additional_kwargs":{},"response_metadata":{},"id":%q,"type":"ai","tool_calls":[],"invalid_tool_calls":[]}`, text, id)
}
