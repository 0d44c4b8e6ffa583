package sse_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/sse"
)

func TestAppendFrame(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, event, data, id, want string }{
		{"all fields in order", "values", `{"a":1}`, "7.2", "event: values\ndata: {\"a\":1}\nid: 7.2\n\n"},
		{"no event", "", "x", "1", "data: x\nid: 1\n\n"},
		{"no id", "e", "x", "", "event: e\ndata: x\n\n"},
		{"empty data is still an event", "e", "", "", "event: e\ndata: \n\n"},
		{"line breaks become data lines", "e", "a\nb\r\nc\rd", "", "event: e\ndata: a\ndata: b\ndata: c\ndata: d\n\n"},
		{"trailing line break", "e", "a\n", "", "event: e\ndata: a\ndata: \n\n"},
		{"unicode line separators are no line breaks", "e", "a\u2028b\u0085c", "", "event: e\ndata: a\u2028b\u0085c\n\n"},
		{"names cannot break out", "e\ndata: x", "y", "1\r\nid: 2", "event: edata: x\ndata: y\nid: 1id: 2\n\n"},
		{"NUL in an id would make readers drop it", "e", "y", "a\x00b", "event: e\ndata: y\nid: ab\n\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := string(sse.AppendFrame(nil, c.event, []byte(c.data), c.id)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestHeartbeatEndsInOneLineBreak(t *testing.T) {
	t.Parallel()
	if got := string(sse.AppendHeartbeat([]byte("x"))); got != "x: heartbeat\n" {
		t.Errorf("got %q", got)
	}
}

func BenchmarkAppendFrame(b *testing.B) {
	data := []byte(`{"messages":[{"type":"ai","content":"hello"}]}`)
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = sse.AppendFrame(buf[:0], "values", data, "12.3")
	}
}

func TestAppendPiecesEqualsAppendFrame(t *testing.T) {
	t.Parallel()
	for _, pieces := range [][]string{nil, {""}, {`{"a":`, `1`, `}`}, {"a\n", "b\r\nc", "\rd"}, {"", "a\n", ""}} {
		data := strings.Join(pieces, "")
		var parts [][]byte
		for _, p := range pieces {
			parts = append(parts, []byte(p))
		}
		got := string(sse.AppendPieces([]byte("x"), "values", len(data), slices.Values(parts), "1.2"))
		if want := string(sse.AppendFrame([]byte("x"), "values", []byte(data), "1.2")); got != want {
			t.Errorf("%q: got %q, want %q", pieces, got, want)
		}
	}
}
