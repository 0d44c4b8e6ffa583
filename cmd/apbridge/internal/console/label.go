package console

import (
	"fmt"
	"io"

	"github.com/apbridge/apbridge/mapping"
)

// Colours of labels, numbered as in ECMA-48, section 8.3.117.
const (
	Green  = 32
	Yellow = 33
)

// Label writes a word at the beginning of a line, in colour if the console is a terminal and NO_COLOR is not set
// (no-color.org).
func Label(console io.Writer, environ []string, colour int, word string) {
	raw, ok := Rewritable(console, environ)
	if !ok || Variable(environ, "NO_COLOR") != "" {
		fmt.Fprint(console, word)
		return
	}
	fmt.Fprintf(raw, "\x1b[%dm%s\x1b[0m", colour, mapping.Visible([]byte(word)))
}
