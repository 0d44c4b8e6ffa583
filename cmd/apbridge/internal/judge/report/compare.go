package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Change is a kind of difference between two reports.
type Change string

const (
	Fixed   Change = "fixed"
	Broken  Change = "broken"
	Flakier Change = "flaky"      // some attempts passed and some failed, before or now
	Unknown Change = "not judged" // in one of the reports, possibly skipped
	Slower  Change = "slower"
	Dearer  Change = "dearer"
	Added   Change = "new"
	Gone    Change = "gone"
)

// Changes returns all kinds in the order of Compare.
func Changes() []Change {
	return []Change{Broken, Fixed, Flakier, Unknown, Slower, Dearer, Added, Gone}
}

// Difference is one change of one challenge.
type Difference struct {
	Challenge string
	Change    Change
	Text      string
}

// Tolerance defines when an attempt counts as slower or dearer.
type Tolerance struct {
	Time float64 // factor, from 1
	Cost float64 // factor, from 1; also for tokens
}

// leastSlower is the minimal difference in seconds, since short attempts vary.
const leastSlower = 1.0

// Compare returns the differences by kind and then by name.
func Compare(before, after Report, t Tolerance) (list []Difference) {
	old := map[string]Result{}
	for _, r := range before.Results {
		old[r.Challenge.Name] = r
	}
	for _, r := range after.Results {
		name := r.Challenge.Name
		if o, known := old[name]; known {
			list = append(list, changesOf(name, o, r, t)...)
		} else {
			list = append(list, Difference{name, Added, r.verdict()})
		}
		delete(old, name)
	}
	for name, o := range old {
		list = append(list, Difference{name, Gone, "was " + o.verdict()})
	}
	order := Changes()
	slices.SortFunc(list, func(a, b Difference) int {
		if d := slices.Index(order, a.Change) - slices.Index(order, b.Change); d != 0 {
			return d
		}
		return strings.Compare(a.Challenge, b.Challenge)
	})
	return list
}

func changesOf(name string, o, n Result, t Tolerance) (list []Difference) {
	if change := passing(o, n); change != "" {
		list = append(list, Difference{name, change, strings.TrimSuffix(fmt.Sprintf("%s, was %s: %s", n.verdict(), o.verdict(), n.reason()), ": ")})
	}
	if o.Count(Passed) == 0 || n.Count(Passed) == 0 {
		return list // time and cost are comparable only for passed attempts
	}
	if was, is := o.seconds(), n.seconds(); is > was*t.Time && is > was+leastSlower {
		list = append(list, Difference{name, Slower, fmt.Sprintf("%.1f s, was %.1f s", is, was)})
	}
	return append(list, dearer(name, o, n, t)...)
}

// passing compares the judged attempts. It returns "" if nothing has changed.
func passing(o, n Result) Change {
	was, is := o.Rate(), n.Rate()
	switch {
	case was.Of == 0 && is.Of == 0, was.always() && is.always(), was.never() && is.never():
		return ""
	case was.Of == 0, is.Of == 0:
		return Unknown
	case was.always(), is.never():
		return Broken
	case is.always(), was.never():
		return Fixed
	}
	return Flakier
}

func dearer(name string, o, n Result, t Tolerance) (list []Difference) {
	was, is := (Report{Results: []Result{o}}).Usage(), (Report{Results: []Result{n}}).Usage()
	per := func(sum float64, r Result) float64 { return sum / float64(len(r.Attempts)) }
	if was.Cost != nil && is.Cost != nil && per(*is.Cost, n) > per(*was.Cost, o)*t.Cost {
		return []Difference{{name, Dearer, fmt.Sprintf("$%.4g per attempt, was $%.4g", per(*is.Cost, n), per(*was.Cost, o))}}
	}
	if was.Tokens != nil && is.Tokens != nil && per(float64(*is.Tokens), n) > per(float64(*was.Tokens), o)*t.Cost {
		return []Difference{{name, Dearer, fmt.Sprintf("%.0f tokens per attempt, was %.0f", per(float64(*is.Tokens), n), per(float64(*was.Tokens), o))}}
	}
	return nil
}

// WriteDifferences writes differences and pass rates as text.
func WriteDifferences(w io.Writer, before, after Report, list []Difference) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, d := range list {
		fmt.Fprintf(t, "%s\t%s\t%s\n", d.Change, d.Challenge, d.Text)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(list) == 0 {
		fmt.Fprintln(w, "nothing changed")
	}
	_, err := fmt.Fprintf(w, "\nbefore: %s\nafter:  %s\n", before.Rate(), after.Rate())
	return err
}
