package main

import (
	"io"
	"strconv"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/progress"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/report"
)

// progress shows a run: rewritten lines on a terminal, a line for each event elsewhere and on one
// that cannot rewrite any.
func (p *program) progress() func(report.Event) {
	t, ok := p.out.(terminal)
	if !ok || variable(p.environ, "TERM") == "dumb" { // terminfo's name of one that only writes lines
		return progress.Plain(p.out)
	}
	raw := t.Writer.(plainText).w // by whose sequences the lines are rewritten
	plain := func(text string) string { return string(visible([]byte(text))) }
	return progress.Live(raw, plain, func() int { return columns(raw, p.environ) })
}

// columns is the width of a terminal now: as it says itself, or as the environment does.
func columns(w io.Writer, environ []string) int {
	const usual, least = 80, 20
	said, _ := strconv.Atoi(variable(environ, "COLUMNS")) // none is 0
	for _, n := range []int{widthOf(w), said} {
		if n > least {
			return n
		}
	}
	return usual
}
