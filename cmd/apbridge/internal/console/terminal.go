package console

import (
	"io"
	"os"

	"github.com/apbridge/apbridge/mapping"
	"github.com/mattn/go-isatty"
)

// Of returns a writer to f. If f is a terminal, the writer escapes control characters, because the output of agents and
// clients may contain escape sequences. A file or a pipe gets every byte unchanged.
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

// Rewritable returns the raw writer of a console, for escape sequences that rewrite lines. It returns false if the
// console is not a terminal or does not support such sequences (terminfo calls it dumb).
func Rewritable(console io.Writer, environ []string) (raw io.Writer, ok bool) {
	t, ok := console.(terminal)
	if !ok || Variable(environ, "TERM") == "dumb" {
		return nil, false
	}
	return t.Writer.(plainText).w, true
}

// TerminalOf returns a terminal that writes to w.
func TerminalOf(w io.Writer) io.Writer { return terminal{plainText{w}} }

// plainText escapes control characters as in JSON, except line ends and tabs. JSON keeps its meaning. Each Write must
// contain whole characters.
type plainText struct{ w io.Writer }

func (p plainText) Write(b []byte) (int, error) {
	if _, err := p.w.Write(mapping.Visible(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}
