package benchmark

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// Status is how a challenge went.
type Status string

const (
	Passed    Status = "passed"
	Failed    Status = "failed"
	Skipped   Status = "skipped"    // it was not tried, or not to its end
	NotJudged Status = "not judged" // it was done, and nobody here can say how well
)

// Result is one challenge of a report.
type Result struct {
	Name       string   `json:"name"`
	Category   []string `json:"category"`
	Difficulty string   `json:"difficulty"`
	Status     Status   `json:"status"`
	Reason     string   `json:"reason,omitempty"` // unless it passed
	TaskID     string   `json:"task_id,omitempty"`
	Steps      int      `json:"steps"`
	TimedOut   bool     `json:"timed_out"`
	Seconds    float64  `json:"seconds"`
	Files      []Judged `json:"files,omitempty"`
}

// Judged is one file of a result.
type Judged struct {
	Source string `json:"source"`
	Passed bool   `json:"passed"`
	Reason string `json:"reason,omitempty"`
}

// Report is how all challenges went, in the order they were taken.
type Report struct {
	URL        string    `json:"url"`
	Began      time.Time `json:"began"`
	Seconds    float64   `json:"seconds"`
	Challenges []Result  `json:"challenges"`
}

// Count is the number of challenges with a status.
func (r Report) Count(s Status) int {
	n := 0
	for _, c := range r.Challenges {
		if c.Status == s {
			n++
		}
	}
	return n
}

// Table writes the report for people.
func (r Report) Table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "CHALLENGE\tDIFFICULTY\tRESULT\tSTEPS\tSECONDS\t")
	for _, c := range r.Challenges {
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%.1f\t%s\n", c.Name, c.Difficulty, c.Status, c.Steps, c.Seconds, c.Reason)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%d passed, %d failed, %d skipped, %d not judged\n", r.Count(Passed), r.Count(Failed), r.Count(Skipped), r.Count(NotJudged))
	return err
}

// JSON writes the report for programs.
func (r Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// line is a result as progress shows it.
func (c Result) line() string {
	s := fmt.Sprintf("%s: %s", c.Name, c.Status)
	if c.Reason != "" {
		s += ": " + c.Reason
	}
	if c.Status == Skipped {
		return s
	}
	return fmt.Sprintf("%s (%d steps, %.1f s)", s, c.Steps, c.Seconds)
}
