package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/check"
)

// Table writes the report for people: what failed, with its reason and the place in the document, what could not be
// seen, and the sums.
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
			fmt.Fprintf(w, "%s %s: %s\n  why    %s\n  cited  %s\n", c.Level, c.ID, c.Says, c.Reason, c.Cites)
			for _, line := range [][2]string{{"sent", c.Sent}, {"came", c.Came}} {
				if line[1] != "" {
					fmt.Fprintf(w, "  %s   %s\n", line[0], line[1])
				}
			}
			fmt.Fprintln(w)
		}
	}
}

func (d Dialect) skips(w *strings.Builder) {
	any := false
	for _, c := range d.Results {
		if c.Status == check.Skipped {
			fmt.Fprintf(w, "skipped %s: %s\n", c.ID, c.Reason)
			any = true
		}
	}
	if any {
		fmt.Fprintln(w)
	}
}

// Share returns in words how many of the checks of a level passed of those that were not skipped; "-" where there are
// none.
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
		return "It was stopped before its end"
	case must == 1:
		return "1 check of a must failed"
	case must > 1:
		return fmt.Sprintf("%d checks of a must failed", must)
	case r.Count(check.Passed) == 0:
		return "Nothing could be checked"
	}
	return "Every must passed"
}
