package conformance

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/check"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/junit"
)

// Report holds the results for one server.
type Report struct {
	URL         string    `json:"url"`
	Began       time.Time `json:"began"`
	Seconds     float64   `json:"seconds"`
	Interrupted bool      `json:"interrupted,omitempty"`
	Dialects    []Dialect `json:"dialects"`
	Unspoken    []string  `json:"not_spoken,omitempty"`  // dialects that the server does not speak
	Left        []string  `json:"left_behind,omitempty"` // what the checks created and could not delete
}

// Dialect holds the results of one suite, in order.
type Dialect struct {
	Name    string         `json:"name"`
	Title   string         `json:"title"`
	Results []check.Result `json:"checks"`
}

// Count returns the number of checks with the status and one of the levels. Without levels it counts all.
func (d Dialect) Count(status check.Status, levels ...check.Level) (n int) {
	for _, r := range d.Results {
		if r.Status == status && (len(levels) == 0 || slices.Contains(levels, r.Level)) {
			n++
		}
	}
	return n
}

// Count sums up the counts of all dialects.
func (r Report) Count(status check.Status, levels ...check.Level) (n int) {
	for _, d := range r.Dialects {
		n += d.Count(status, levels...)
	}
	return n
}

// Conforms reports whether at least one check passed and no check of a Must failed.
func (r Report) Conforms() bool {
	return r.Count(check.Failed, check.Must) == 0 && r.Count(check.Passed) > 0
}

// JSON writes the whole report.
func (r Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// Table writes a readable report: failures with their reason and source, skipped checks, and totals.
func (r Report) Table(w io.Writer) error {
	var text strings.Builder
	for _, d := range r.Dialects {
		d.failures(&text)
		d.skips(&text)
	}
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "DIALECT\tMUST\tSHOULD\tMAY\tSKIPPED")
	for _, d := range r.Dialects {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\n", d.Name, d.Share(check.Must), d.Share(check.Should), d.Share(check.May), d.Count(check.Skipped))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(r.Unspoken) > 0 {
		fmt.Fprintf(&text, "not spoken: %s\n", strings.Join(r.Unspoken, ", "))
	}
	for _, left := range r.Left {
		fmt.Fprintf(&text, "left behind: %s\n", left)
	}
	fmt.Fprintf(&text, "\n%s in %.1f s\n", r.verdict(), r.Seconds)
	_, err := io.WriteString(w, text.String())
	return err
}

func (d Dialect) failures(w *strings.Builder) {
	for _, c := range d.Results {
		if c.Status == check.Failed {
			fmt.Fprintf(w, "%s %s: %s\n  reason    %s\n  source    %s\n", c.Level, c.ID, c.Says, c.Reason, c.Cites)
			for _, line := range [][2]string{{"request", c.Sent}, {"response", c.Came}} {
				if line[1] != "" {
					fmt.Fprintf(w, "  %-8s  %s\n", line[0], line[1])
				}
			}
			fmt.Fprintln(w)
		}
	}
}

func (d Dialect) skips(w *strings.Builder) {
	skipped := false
	for _, c := range d.Results {
		if c.Status == check.Skipped {
			fmt.Fprintf(w, "skipped %s: %s\n", c.ID, c.Reason)
			skipped = true
		}
	}
	if skipped {
		fmt.Fprintln(w)
	}
}

// Share returns passed/total for a level, without skipped checks, or "-" if no check is left.
func (d Dialect) Share(level check.Level) string {
	passed, failed := d.Count(check.Passed, level), d.Count(check.Failed, level)
	if passed+failed == 0 {
		return "-"
	}
	return fmt.Sprintf("%d/%d", passed, passed+failed)
}

func (r Report) verdict() string {
	switch must := r.Count(check.Failed, check.Must); {
	case r.Interrupted:
		return "Stopped before the end"
	case must == 1:
		return "1 must failed"
	case must > 1:
		return fmt.Sprintf("%d musts failed", must)
	case r.Count(check.Passed) == 0:
		return "Nothing could be checked"
	}
	return "Every must passed"
}

// JUnit writes the report as XML for CI servers, with a suite for each dialect. A failed check of a Should or a May is
// written as skipped, since the exit code does not count it either.
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
		j.Failure = &junit.Why{Message: c.Reason, Text: fmt.Sprintf("%s\n%s\nrequest: %s\nresponse: %s\n", c.Says, c.Cites, c.Sent, c.Came)}
	case c.Status == check.Failed:
		j.Skipped = &junit.Why{Message: fmt.Sprintf("%s not met: %s", c.Level, c.Reason)}
	case c.Status == check.Skipped:
		j.Skipped = &junit.Why{Message: c.Reason}
	}
	return j
}

type badge struct{ label, text, colour string }

// badge counts the Musts of all checked dialects.
func (r Report) badge() badge {
	var names []string
	for _, d := range r.Dialects {
		names = append(names, d.Name)
	}
	passed, failed := r.Count(check.Passed, check.Must), r.Count(check.Failed, check.Must)
	b := badge{strings.Join(names, ", "), fmt.Sprintf("%d/%d musts", passed, passed+failed), "#3a7d2c"}
	switch {
	case !r.Conforms() && passed*10 >= (passed+failed)*9:
		b.colour = "#9a6700"
	case !r.Conforms():
		b.colour = "#b3261e"
	}
	return b
}

// Badge writes the result as SVG.
func (r Report) Badge(w io.Writer) error {
	b := r.badge()
	left, right := width(b.label), width(b.text)
	label, text := html.EscapeString(b.label), html.EscapeString(b.text)
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="20" role="img" aria-label="%[4]s: %[5]s">
  <title>%[4]s: %[5]s</title>
  <rect width="%[2]d" height="20" fill="#444"/>
  <rect x="%[2]d" width="%[3]d" height="20" fill="%[6]s"/>
  <g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
    <text x="8" y="14" textLength="%[7]d">%[4]s</text>
    <text x="%[8]d" y="14" textLength="%[9]d">%[5]s</text>
  </g>
</svg>
`, left+right, left, right, label, text, b.colour, left-16, left+8, right-16)
	return err
}

// width returns the width of a text with its margins, in pixels. textLength makes each letter 7 pixels wide.
func width(text string) int { return 16 + 7*len([]rune(text)) }

// Endpoint writes the result as JSON for a badge of shields.io (Endpoint Badge, schemaVersion 1).
func (r Report) Endpoint(w io.Writer) error {
	b := r.badge()
	return json.NewEncoder(w).Encode(struct {
		Version int    `json:"schemaVersion"`
		Label   string `json:"label"`
		Message string `json:"message"`
		Colour  string `json:"color"`
	}{1, b.label, b.text, b.colour})
}
