package mapping

import (
	"bytes"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// Visible writes characters that act on a terminal, except line ends and tabs, as JSON escapes. JSON stays JSON with
// the same meaning. Plain text is not copied.
func Visible(b []byte) []byte {
	if isPlain(b) {
		return b
	}
	var out bytes.Buffer
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&out, `\x%02x`, b[i])
		case r == '\r' && i+1 < len(b) && b[i+1] == '\n', !acts(r):
			out.Write(b[i : i+n])
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
		i += n
	}
	return out.Bytes()
}

// isPlain reports whether b is printable ASCII. Nearly all log lines are, so this check is byte by byte without a copy.
func isPlain(b []byte) bool {
	for _, c := range b {
		if (c < ' ' || c > '~') && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// acts reports whether a terminal interprets a character instead of printing it: control characters (C0, DEL, C1),
// other line ends, and characters that change the direction of text and thereby its appearance (Unicode TR9, section
// 2).
func acts(r rune) bool {
	switch {
	case r == '\n', r == '\t':
		return false
	case unicode.IsControl(r), unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control):
		return true
	}
	return false
}
