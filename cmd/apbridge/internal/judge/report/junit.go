package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
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
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Time     string      `xml:"time,attr"`
		Stamp    string      `xml:"timestamp,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string    `xml:"classname,attr"`
		Name    string    `xml:"name,attr"`
		Time    string    `xml:"time,attr"`
		Failure *junitWhy `xml:"failure"`
		Error   *junitWhy `xml:"error"`
		Skipped *junitWhy `xml:"skipped"`
		Out     string    `xml:"system-out,omitempty"`
	}
	junitWhy struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes the report as XML for CI servers: a test case for each try.
func (r Report) JUnit(w io.Writer) error {
	s := junitSuite{
		Name: "apbridge bench " + r.Target, Failures: r.Count(Failed), Errors: len(r.Faults), Skipped: r.Count(Skipped) + r.Count(NotJudged),
		Time: fmt.Sprintf("%.3f", r.Seconds), Stamp: r.Began.UTC().Format("2006-01-02T15:04:05"),
	}
	for _, each := range r.Results {
		for _, a := range each.Attempts {
			s.Cases = append(s.Cases, each.junit(a))
		}
	}
	for _, f := range r.Faults {
		s.Cases = append(s.Cases, junitCase{Class: "challenges", Name: f.File, Time: "0", Error: &junitWhy{Message: f.Error()}})
	}
	s.Tests = len(s.Cases)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(junitSuites{Suites: []junitSuite{s}}); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (r Result) junit(a Attempt) junitCase {
	c := junitCase{Class: strings.Join(r.Challenge.Category, "."), Name: r.Challenge.Name, Time: fmt.Sprintf("%.3f", a.Seconds)}
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
		c.Failure = &junitWhy{a.Reason, facts.String()}
	case Skipped, NotJudged:
		c.Skipped = &junitWhy{Message: a.Reason}
	case Passed:
		c.Out = facts.String()
	}
	return c
}
