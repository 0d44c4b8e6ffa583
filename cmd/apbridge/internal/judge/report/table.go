package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Table writes the report as text: a line for each challenge, details of failures, and totals.
func (r Report) Table(w io.Writer) error {
	var text strings.Builder
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "CHALLENGE\tDIFFICULTY\tRESULT\tSTEPS\tSECONDS\tTOKENS\tCOST\t")
	for _, each := range r.Results {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%.1f\t%s\t%s\t%s\n", each.Challenge.Name, dash(each.Challenge.Info.Difficulty), each.verdict(),
			each.steps(), each.seconds(), each.tokens(), each.cost(), each.reason())
	}
	if err := t.Flush(); err != nil {
		return err
	}
	r.details(&text)
	r.sum(&text)
	_, err := io.WriteString(w, text.String())
	return err
}

// verdict returns the status, or how many attempts passed if they differ.
func (r Result) verdict() string {
	first := r.Attempts[0].Status
	if len(r.Attempts) == 1 || r.Count(first) == len(r.Attempts) && r.Rate().Of == 0 {
		return string(first)
	}
	text := fmt.Sprintf("%d of %d passed", r.Rate().Passed, r.Rate().Of)
	for _, other := range []Status{Skipped, NotJudged} {
		if n := r.Count(other); n > 0 {
			text += fmt.Sprintf(", %d %s", n, other)
		}
	}
	return text
}

// reason returns the reason of the first attempt that did not pass.
func (r Result) reason() string {
	for _, a := range r.Attempts {
		if a.Status != Passed {
			return a.Reason
		}
	}
	return ""
}

func (r Result) steps() string {
	low, high := r.Attempts[0].Steps, r.Attempts[0].Steps
	for _, a := range r.Attempts {
		low, high = min(low, a.Steps), max(high, a.Steps)
	}
	if low == high {
		return fmt.Sprint(low)
	}
	return fmt.Sprintf("%d-%d", low, high)
}

// seconds returns the mean of the attempts.
func (r Result) seconds() (mean float64) {
	for _, a := range r.Attempts {
		mean += a.Seconds / float64(len(r.Attempts))
	}
	return mean
}

func (r Result) tokens() string {
	if u := (Report{Results: []Result{r}}).Usage(); u.Tokens != nil {
		return fmt.Sprint(*u.Tokens)
	}
	return "-"
}

func (r Result) cost() string {
	if u := (Report{Results: []Result{r}}).Usage(); u.Cost != nil {
		return fmt.Sprintf("$%.4g", *u.Cost)
	}
	return "-"
}

func dash(text string) string { return cmp.Or(text, "-") }

func (r Report) details(w *strings.Builder) {
	for _, each := range r.Results {
		for _, a := range each.Attempts {
			if a.Status != Failed {
				continue
			}
			fmt.Fprintf(w, "\n%s failed: %s\n", each.label(a), a.Reason)
			for _, x := range a.facts() {
				fmt.Fprintf(w, "  %s:%s\n", x.name, indented(x.text))
			}
		}
	}
	for i, f := range r.Faults {
		if i == 0 {
			fmt.Fprintln(w, "\nNo challenges:")
		}
		fmt.Fprintf(w, "  %s\n", f.Error())
	}
}

func (r Result) label(a Attempt) string {
	if len(r.Attempts) == 1 {
		return r.Challenge.Name
	}
	return fmt.Sprintf("%s, attempt %d,", r.Challenge.Name, a.Number)
}

// mostExcerpts bounds the judged files whose first lines are shown.
const mostExcerpts = 5

type fact struct{ name, text string }

func (a Attempt) facts() (list []fact) {
	add := func(name, text string) {
		if text != "" {
			list = append(list, fact{name, text})
		}
	}
	add("the agent's last output", a.LastWords)
	if a.Output == "" {
		for i, f := range a.Files {
			if i == mostExcerpts {
				add("more files", fmt.Sprint(len(a.Files)-i))
				break
			}
			if !f.Passed {
				add(f.Source+" begins", f.Excerpt)
			}
		}
	}
	add("output of the program", a.Output)
	if a.Thread == "" {
		add("task", a.TaskID)
	}
	add("thread", a.Thread)
	return list
}

func indented(text string) string {
	if !strings.Contains(text, "\n") {
		return " " + text
	}
	return "\n    " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ")
}

func (r Report) sum(w *strings.Builder) {
	s := r.Summary()
	fmt.Fprintf(w, "\n%d passed, %d failed, %d skipped, %d not judged in %.1f s", s.Passed, s.Failed, s.Skipped, s.NotJudged, s.Seconds)
	if s.Tokens != nil {
		fmt.Fprintf(w, ", %d tokens", *s.Tokens)
	}
	if s.Cost != nil {
		fmt.Fprintf(w, ", $%.4g", *s.Cost)
	}
	if s.Grader != nil {
		fmt.Fprintf(w, "; the grader used %d tokens", *s.Grader)
	}
	fmt.Fprintf(w, "\npassed: %s\n", r.Rate())
	if len(s.Flaky) > 0 {
		fmt.Fprintf(w, "flaky: %s\n", strings.Join(s.Flaky, ", "))
	}
	if s.Interrupted {
		fmt.Fprintln(w, "Stopped before the end.")
	}
}
