package console

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-isatty"
)

// Of returns a writer to f. Much of what is written comes from agents and clients, and a terminal obeys escape
// sequences: so nothing but text reaches one. A file or a pipe gets every byte as it is.
func Of(f *os.File) io.Writer {
	if isatty.IsTerminal(f.Fd()) {
		return TerminalOf(f)
	}
	return f
}

// terminal is a console that a person looks at.
type terminal struct{ io.Writer }

// Rewritable returns the writer for sequences that rewrite lines, of a console of this process; false where it is no
// terminal, or a terminal that only writes lines (terminfo calls that one dumb).
func Rewritable(console io.Writer, environ []string) (raw io.Writer, ok bool) {
	t, ok := console.(terminal)
	if !ok || Variable(environ, "TERM") == "dumb" {
		return nil, false
	}
	return t.Writer.(plainText).w, true
}

// TerminalOf returns a terminal that writes to w.
func TerminalOf(w io.Writer) io.Writer { return terminal{plainText{w}} }

// plainText writes text in which control characters are escaped as JSON does it, but for line ends and tabs; so what
// was JSON still is, and means the same. Each Write is taken for whole characters.
type plainText struct{ w io.Writer }

func (p plainText) Write(b []byte) (int, error) {
	if _, err := p.w.Write(Visible(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Visible returns text with what acts on a terminal escaped. What is plain already is not copied.
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
