package console

import (
	"io"
	"os"

	"github.com/apbridge/apbridge/mapping"
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

// OnTerminal reports whether a person looks at a console of this process.
func OnTerminal(console io.Writer) bool {
	_, ok := console.(terminal)
	return ok
}

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
	if _, err := p.w.Write(mapping.Visible(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}
