package bench

import (
	"io"
	"strconv"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/report"
	"github.com/apbridge/apbridge/mapping"
)

// progress shows the progress of a run. It rewrites lines if the output is a terminal that supports it, and otherwise
// prints one line per event.
func (p *program) progress() func(report.Event) {
	raw, ok := console.Rewritable(p.Out, p.Environ)
	if !ok {
		return report.PlainProgress(p.Out)
	}
	plain := func(text string) string { return string(mapping.Visible([]byte(text))) }
	return report.LiveProgress(raw, plain, func() int { return columns(raw, p.Environ) })
}

// columns returns the current width of the terminal, either its own or the one in the environment.
func columns(w io.Writer, environ []string) int {
	const usual, least = 80, 20
	said, _ := strconv.Atoi(console.Variable(environ, "COLUMNS")) // an invalid one is 0
	for _, n := range []int{console.WidthOf(w), said} {
		if n > least {
			return n
		}
	}
	return usual
}
