package render

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// CursorOf reads where a reader wants to go on from (header Last-Event-ID of the HTML Standard): none means live, -1
// and empty from the run's start, else an id that a frame carried.
func CursorOf(h http.Header) (adapter.Cursor, error) {
	values, ok := h["Last-Event-Id"]
	if !ok {
		return adapter.Cursor{K: -1, Live: true}, nil
	}
	return ParseCursor(values[0])
}

// ParseCursor reads `-1`, "", `<seq>` (everything of that event was seen) and `<seq>.<k>`. Whether the log has that
// number is for the log to say.
func ParseCursor(s string) (adapter.Cursor, error) {
	if s = strings.TrimSpace(s); s == "" || s == "-1" {
		return adapter.Cursor{K: -1, Start: true}, nil
	}
	head, tail, dotted := strings.Cut(s, ".")
	seq, ok := counter(head)
	if !ok || seq == 0 {
		return adapter.Cursor{}, badCursor()
	}
	if !dotted {
		return adapter.Cursor{Seq: seq, K: -1}, nil
	}
	k, ok := counter(tail)
	if !ok || k >= maxFrames {
		return adapter.Cursor{}, badCursor()
	}
	return adapter.Cursor{Seq: seq, K: int(k)}, nil
}

// maxFrames is more than the frames that one event has. An update of a thousand messages has some thousands.
const maxFrames = 1 << 30

// counter reads a number as frames carry it: digits, no leading zero.
func counter(s string) (int64, bool) {
	if s == "" || len(s) > 1 && s[0] == '0' || s[0] == '+' || s[0] == '-' {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

func badCursor() error {
	return mapping.Errorf(mapping.Malformed, "invalid_cursor", "Last-Event-ID is not an id of this stream. Send the id of the last frame you saw, or -1 for everything.")
}
