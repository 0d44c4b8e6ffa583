package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/junit"
)

// JUnit writes the report as XML for CI servers, with a test case for each attempt.
func (r Report) JUnit(w io.Writer) error {
	s := junit.Suite{Name: "apbridge bench " + r.Target, Began: r.Began, Took: seconds(r.Seconds)}
	for _, each := range r.Results {
		for _, a := range each.Attempts {
			s.Cases = append(s.Cases, each.junit(a))
		}
	}
	for _, f := range r.Faults {
		s.Cases = append(s.Cases, junit.Case{Class: "challenges", Name: f.File, Error: &junit.Why{Message: f.Error()}})
	}
	return junit.Write(w, s)
}

func (r Result) junit(a Attempt) junit.Case {
	c := junit.Case{Class: strings.Join(r.Challenge.Category, "."), Name: r.Challenge.Name, Time: junit.Seconds(a.Seconds)}
	if c.Class == "" {
		c.Class = "challenges"
	}
	if len(r.Attempts) > 1 {
		c.Name = fmt.Sprintf("%s [%d]", c.Name, a.Number)
	}
	var facts strings.Builder
	for _, x := range a.facts() {
		fmt.Fprintf(&facts, "%s:%s\n", x.name, indented(x.text))
	}
	switch a.Status {
	case Failed:
		c.Failure = &junit.Why{Message: a.Reason, Text: facts.String()}
	case Skipped, NotJudged:
		c.Skipped = &junit.Why{Message: a.Reason}
	case Passed:
		c.Out = facts.String()
	}
	return c
}
