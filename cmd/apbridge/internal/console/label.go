package console

import (
	"fmt"
	"io"

	"github.com/apbridge/apbridge/mapping"
)

// Colours of labels, as terminals number them (ECMA-48, section 8.3.117).
const (
	Green  = 32
	Yellow = 33
)

// Label writes a word in front of a line: in a colour where the console is a terminal, unless NO_COLOR is set
// (no-color.org).
func Label(console io.Writer, environ []string, colour int, word string) {
	raw, ok := Rewritable(console, environ)
	if !ok || Variable(environ, "NO_COLOR") != "" {
		fmt.Fprint(console, word)
		return
	}
	fmt.Fprintf(raw, "\x1b[%dm%s\x1b[0m", colour, mapping.Visible([]byte(word)))
}
