package console

import (
	"io"
	"os"

	"github.com/apbridge/apbridge/mapping"
	"github.com/mattn/go-isatty"
)

// Of returns a writer to f. On a terminal, it only writes text, because agents' and clients' output may contain escape
// sequences. A file or a pipe gets every byte unchanged.
func Of(f *os.File) io.Writer {
	if isatty.IsTerminal(f.Fd()) {
		return TerminalOf(f)
	}
	return f
}

// terminal is a console on a terminal.
type terminal struct{ io.Writer }

// OnTerminal reports whether a console of this process is a terminal.
func OnTerminal(console io.Writer) bool {
	_, ok := console.(terminal)
	return ok
}

// Rewritable returns the raw writer of a console, for sequences that rewrite lines. It returns false if it is no
// terminal, or one without such sequences (terminfo calls it dumb).
func Rewritable(console io.Writer, environ []string) (raw io.Writer, ok bool) {
	t, ok := console.(terminal)
	if !ok || Variable(environ, "TERM") == "dumb" {
		return nil, false
	}
	return t.Writer.(plainText).w, true
}

// TerminalOf returns a terminal that writes to w.
func TerminalOf(w io.Writer) io.Writer { return terminal{plainText{w}} }

// plainText escapes control characters, except line ends and tabs, in the way of JSON. JSON stays JSON with the same
// meaning. Each Write must contain whole characters.
type plainText struct{ w io.Writer }

func (p plainText) Write(b []byte) (int, error) {
	if _, err := p.w.Write(mapping.Visible(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}
