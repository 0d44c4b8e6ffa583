package report

import (
	"encoding/xml"
	"fmt"
	"io"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/check"
)

// The form that CI servers read, as far as all of them do (the schema of Apache Ant's junit task).
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Stamp    string      `xml:"timestamp,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string    `xml:"classname,attr"`
		Name    string    `xml:"name,attr"`
		Time    string    `xml:"time,attr"`
		Failure *junitWhy `xml:"failure"`
		Skipped *junitWhy `xml:"skipped"`
		Out     string    `xml:"system-out,omitempty"`
	}
	junitWhy struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes the report as XML for CI servers: a suite for each dialect. A check of a should or a may
// that failed is no failure there, but is told as skipped: the exit code does not count it either.
func (r Report) JUnit(w io.Writer) error {
	var all junitSuites
	for _, d := range r.Dialects {
		s := junitSuite{Name: "apbridge conformance " + d.Name + " " + r.URL, Tests: len(d.Results), Stamp: r.Began.UTC().Format("2006-01-02T15:04:05")}
		for _, c := range d.Results {
			s.add(d.Name, c)
		}
		all.Suites = append(all.Suites, s)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (s *junitSuite) add(dialect string, c check.Result) {
	j := junitCase{Class: dialect, Name: c.ID, Time: fmt.Sprintf("%.3f", c.Seconds)}
	text := fmt.Sprintf("%s\n%s\nsent: %s\ncame: %s\n", c.Says, c.Cites, c.Sent, c.Came)
	switch {
	case c.Status == check.Failed && c.Level == check.Must:
		j.Failure = &junitWhy{c.Reason, text}
		s.Failures++
	case c.Status == check.Failed:
		j.Skipped = &junitWhy{Message: fmt.Sprintf("%s, not kept: %s", c.Level, c.Reason)}
		s.Skipped++
	case c.Status == check.Skipped:
		j.Skipped = &junitWhy{Message: c.Reason}
		s.Skipped++
	}
	s.Cases = append(s.Cases, j)
}
