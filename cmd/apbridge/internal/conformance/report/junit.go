package report

import (
	"fmt"
	"io"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/check"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/junit"
)

// JUnit writes the report as XML for CI servers: a suite for each dialect. A check of a should or a may that failed is
// no failure there, but is told as skipped: the exit code does not count it either.
func (r Report) JUnit(w io.Writer) error {
	var all []junit.Suite
	for _, d := range r.Dialects {
		s := junit.Suite{Name: "apbridge conformance " + d.Name + " " + r.URL, Began: r.Began}
		for _, c := range d.Results {
			s.Cases = append(s.Cases, caseOf(d.Name, c))
		}
		all = append(all, s)
	}
	return junit.Write(w, all...)
}

func caseOf(dialect string, c check.Result) junit.Case {
	j := junit.Case{Class: dialect, Name: c.ID, Time: junit.Seconds(c.Seconds)}
	switch {
	case c.Status == check.Failed && c.Level == check.Must:
		j.Failure = &junit.Why{Message: c.Reason, Text: fmt.Sprintf("%s\n%s\nsent: %s\ncame: %s\n", c.Says, c.Cites, c.Sent, c.Came)}
	case c.Status == check.Failed:
		j.Skipped = &junit.Why{Message: fmt.Sprintf("%s, not kept: %s", c.Level, c.Reason)}
	case c.Status == check.Skipped:
		j.Skipped = &junit.Why{Message: c.Reason}
	}
	return j
}
