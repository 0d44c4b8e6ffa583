// Package report writes the results of checks in the forms that people and programs read. The command calls it. It
// calls no server.
package report

import (
	"encoding/json"
	"io"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/check"
)

// Report is the results of the checks of one server.
type Report struct {
	URL         string    `json:"url"`
	Began       time.Time `json:"began"`
	Seconds     float64   `json:"seconds"`
	Interrupted bool      `json:"interrupted,omitempty"`
	Dialects    []Dialect `json:"dialects"`
	Unspoken    []string  `json:"not_spoken,omitempty"`  // dialects that the server was asked for and does not speak
	Left        []string  `json:"left_behind,omitempty"` // what the checks made and could not remove
}

// Dialect is the results of one dialect's checks, in their order.
type Dialect struct {
	Name    string         `json:"name"`
	Title   string         `json:"title"`
	Results []check.Result `json:"checks"`
}

// Count returns how many checks have the status, at one of the levels; without levels at any.
func (d Dialect) Count(status check.Status, levels ...check.Level) (n int) {
	for _, r := range d.Results {
		for _, level := range orAll(levels) {
			if r.Status == status && r.Level == level {
				n++
			}
		}
	}
	return n
}

func orAll(levels []check.Level) []check.Level {
	if len(levels) == 0 {
		return []check.Level{check.Must, check.Should, check.May}
	}
	return levels
}

// Count returns the sum of the counts of all dialects.
func (r Report) Count(status check.Status, levels ...check.Level) (n int) {
	for _, d := range r.Dialects {
		n += d.Count(status, levels...)
	}
	return n
}

// Conforms reports whether a check passed and no check of a must failed.
func (r Report) Conforms() bool {
	return r.Count(check.Failed, check.Must) == 0 && r.Count(check.Passed) > 0
}

// JSON writes the report with all that is known.
func (r Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}
