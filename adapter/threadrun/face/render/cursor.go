package render

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// CursorOf reads the position from which a reader wants to continue, in the header Last-Event-ID (HTML Standard). It is
// the id of a frame, or -1 or "" for the start of the run. Without the header, the reader starts live.
func CursorOf(h http.Header) (adapter.Cursor, error) {
	values, ok := h["Last-Event-Id"]
	if !ok {
		return adapter.Cursor{K: -1, Live: true}, nil
	}
	return ParseCursor(values[0])
}

// ParseCursor reads `-1`, "", `<seq>` (the reader has all frames of that event) and `<seq>.<k>`. It does not check
// whether the log has that event.
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

// maxFrames is greater than the number of frames of any event. An update with a thousand messages has a few thousand.
const maxFrames = 1 << 30

// counter reads a number as written in ids of frames: digits without a leading zero.
func counter(s string) (int64, bool) {
	if s == "" || len(s) > 1 && s[0] == '0' || s[0] == '+' || s[0] == '-' {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

func badCursor() error {
	return mapping.Errorf(mapping.Malformed, "invalid_cursor", "Last-Event-ID is not an id of this stream. Send the id of the last frame you received, or -1 for everything.")
}
