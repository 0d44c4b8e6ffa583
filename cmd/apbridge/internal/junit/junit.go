// Package junit writes test results as XML for CI servers, using the parts of the format that all of them support (the
// schema of Apache Ant's junit task). The reports of bench and conformance use it. It opens no files.
package junit

import (
	"encoding/xml"
	"fmt"
	"io"
	"time"
)

// Suite is a list of cases. Write counts them.
type Suite struct {
	Name  string
	Began time.Time
	// Took is the total duration; 0 if unknown.
	Took  time.Duration
	Cases []Case
}

// Case is one result. It passed unless Failure, Error or Skipped is set.
type Case struct {
	Class   string  `xml:"classname,attr"`
	Name    string  `xml:"name,attr"`
	Time    Seconds `xml:"time,attr"`
	Failure *Why    `xml:"failure"`
	Error   *Why    `xml:"error"`
	Skipped *Why    `xml:"skipped"`
	Out     string  `xml:"system-out,omitempty"`
}

// Why is a reason: one line with optional details.
type Why struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// Seconds are written with three decimal places.
type Seconds float64

// MarshalText implements encoding.TextMarshaler.
func (s Seconds) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%.3f", float64(s)), nil }

// suite is a Suite with its counts.
type suite struct {
	Name     string `xml:"name,attr"`
	Tests    int    `xml:"tests,attr"`
	Failures int    `xml:"failures,attr"`
	Errors   int    `xml:"errors,attr"`
	Skipped  int    `xml:"skipped,attr"`
	Time     string `xml:"time,attr,omitempty"`
	Stamp    string `xml:"timestamp,attr"`
	Cases    []Case `xml:"testcase"`
}

// Write writes the suites as one document. An error comes from w.
func Write(w io.Writer, suites ...Suite) error {
	var all struct {
		XMLName xml.Name `xml:"testsuites"`
		Suites  []suite  `xml:"testsuite"`
	}
	for _, s := range suites {
		all.Suites = append(all.Suites, counted(s))
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

func counted(s Suite) suite {
	c := suite{Name: s.Name, Tests: len(s.Cases), Stamp: s.Began.UTC().Format("2006-01-02T15:04:05"), Cases: s.Cases}
	if s.Took > 0 {
		c.Time = fmt.Sprintf("%.3f", s.Took.Seconds())
	}
	for _, each := range s.Cases {
		switch {
		case each.Failure != nil:
			c.Failures++
		case each.Error != nil:
			c.Errors++
		case each.Skipped != nil:
			c.Skipped++
		}
	}
	return c
}
