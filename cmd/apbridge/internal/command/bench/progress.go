package bench

import (
	"io"
	"strconv"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/progress"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/report"
	"github.com/apbridge/apbridge/mapping"
)

// progress shows a run: rewritten lines on a terminal, a line for each event elsewhere and on one that cannot rewrite
// any.
func (p *program) progress() func(report.Event) {
	raw, ok := console.Rewritable(p.Out, p.Environ)
	if !ok {
		return progress.Plain(p.Out)
	}
	plain := func(text string) string { return string(mapping.Visible([]byte(text))) }
	return progress.Live(raw, plain, func() int { return columns(raw, p.Environ) })
}

// columns is the width of a terminal now: as it says itself, or as the environment does.
func columns(w io.Writer, environ []string) int {
	const usual, least = 80, 20
	said, _ := strconv.Atoi(console.Variable(environ, "COLUMNS")) // none is 0
	for _, n := range []int{console.WidthOf(w), said} {
		if n > least {
			return n
		}
	}
	return usual
}
