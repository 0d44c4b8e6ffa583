package mapping

import (
	"bytes"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// Visible returns text in which what acts on a terminal is escaped as JSON does it, but for line ends and tabs. What
// was JSON still is, and means the same. Text that is plain already is not copied.
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

// isPlain reports whether b is ASCII that is shown as it is. Nearly all that is logged is, and is looked at byte by
// byte and not copied.
func isPlain(b []byte) bool {
	for _, c := range b {
		if (c < ' ' || c > '~') && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// acts reports whether a terminal does something else with a character than to show it: control characters (C0, DEL,
// C1), other line ends, and what turns the direction of a text so that it reads as another one (Unicode TR9, section
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
