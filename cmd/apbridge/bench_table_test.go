package main_test

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"text/tabwriter"
	"time"
)

// comparison holds the samples of ways that alternated, by name and round.
type comparison struct {
	what    string
	clients int
	samples map[string][]benchSample
	cpu     map[string][]time.Duration
}

func p50(s benchSample) float64 { return ms(percentile(s.took, 0.5)) }

func firstEvent(p float64) func(benchSample) float64 {
	return func(s benchSample) float64 { return ms(percentile(s.first, p)) }
}

func (c *comparison) median(name string, of func(benchSample) float64) float64 {
	return c.overRounds(name, name, func(a, _ benchSample) float64 { return of(a) })
}

// ratio of two ways, taken round by round.
func (c *comparison) ratio(name, over string, of func(benchSample) float64) float64 {
	return c.overRounds(name, over, func(a, b benchSample) float64 { return of(a) / of(b) })
}

// added is how much longer a run takes one way than the other, in ms.
func (c *comparison) added(name, over string) float64 {
	return c.overRounds(name, over, func(a, b benchSample) float64 { return p50(a) - p50(b) })
}

func (c *comparison) overRounds(name, over string, of func(a, b benchSample) float64) float64 {
	list := []float64{}
	for i, s := range c.samples[name] {
		list = append(list, of(s, c.samples[over][i]))
	}
	return median(list)
}

func (c *comparison) cpuPerRun(name string) float64 {
	list := []float64{}
	for _, d := range c.cpu[name] {
		list = append(list, ms(d))
	}
	return median(list)
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func median(list []float64) float64 {
	if len(list) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2]
}

func pooledTransport() *http.Transport {
	return &http.Transport{MaxIdleConns: 256, MaxIdleConnsPerHost: 256, DisableCompression: true}
}

// benchTable is the result, as printed and as JSON.
type benchTable struct {
	Measured []benchRaw
	Rows     []benchRow
}

type benchRaw struct {
	What, Way           string
	Clients             int
	PerSecond, P50, P99 float64 // P50 and P99 in ms
	CPU                 float64 // of the bridge, ms a run; 0: not measured
}

type benchRow struct {
	What, Unit, Verdict string
	Value, Floor, Goal  float64 // Floor 0: there is none; Goal 0: the value is not judged
	smallerIsBetter     bool
}

func (t *benchTable) raw(c *comparison, name string) {
	t.Measured = append(t.Measured, benchRaw{
		What: c.what, Way: name, Clients: c.clients, PerSecond: c.median(name, benchSample.rate), P50: c.median(name, p50),
		P99: c.median(name, func(s benchSample) float64 { return ms(percentile(s.took, 0.99)) }), CPU: c.cpuPerRun(name),
	})
}

func (t *benchTable) atMost(what string, value float64, unit string, floor, goal float64) {
	t.add(benchRow{What: what, Unit: unit, Value: value, Floor: floor, Goal: goal, smallerIsBetter: true})
}

func (t *benchTable) atLeast(what string, value float64, unit string, floor, goal float64) {
	t.add(benchRow{What: what, Unit: unit, Value: value, Floor: floor, Goal: goal})
}

// figure is a value that nothing is asked of.
func (t *benchTable) figure(what string, value float64, unit string) {
	t.add(benchRow{What: what, Unit: unit, Value: value})
}

// skip says what could not be measured.
func (t *benchTable) skip(what, why string) {
	t.Rows = append(t.Rows, benchRow{What: what, Verdict: "skipped: " + why})
}

// add judges a row: GOAL, OK (only the floor is kept) or MISS. A row that has
// no floor misses its goal.
func (t *benchTable) add(r benchRow) {
	keeps := func(bound float64) bool {
		if r.smallerIsBetter {
			return r.Value <= bound
		}
		return r.Value >= bound
	}
	switch {
	case r.Goal == 0:
		r.Verdict = "–"
	case keeps(r.Goal):
		r.Verdict = "GOAL"
	case r.Floor != 0 && keeps(r.Floor):
		r.Verdict = "OK"
	case r.Floor == 0:
		r.Verdict = "below goal"
	default:
		r.Verdict = "MISS"
	}
	t.Rows = append(t.Rows, r)
}

func (t *benchTable) print(w io.Writer) {
	fmt.Fprintf(w, "\n%d steps a run, %d CPUs, medians of %d rounds of %s\n\n", benchSteps, runtime.NumCPU(), benchRounds, benchRound)
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tab, "what\tway\tclients\tper s\tp50 ms\tp99 ms\tCPU ms\t")
	for _, r := range t.Measured {
		fmt.Fprintf(tab, "%s\t%s\t%d\t%.0f\t%.2f\t%.2f\t%s\t\n", r.What, r.Way, r.Clients, r.PerSecond, r.P50, r.P99, orDash(r.CPU))
	}
	tab.Flush()
	fmt.Fprintln(w)
	tab = tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "what\tmeasured\tfloor\tgoal\tverdict")
	for _, r := range t.Rows {
		fmt.Fprintf(tab, "%s\t%s\t%s\t%s\t%s\n", r.What, r.measured(), r.bound(r.Floor), r.bound(r.Goal), r.Verdict)
	}
	tab.Flush()
}

func (r benchRow) measured() string {
	if r.Unit == "" {
		return "–"
	}
	return fmt.Sprintf("%.3g %s", r.Value, r.Unit)
}

func (r benchRow) bound(at float64) string {
	switch {
	case at == 0:
		return "–"
	case r.smallerIsBetter:
		return fmt.Sprintf("≤ %g %s", at, r.Unit)
	}
	return fmt.Sprintf("≥ %g %s", at, r.Unit)
}

func orDash(v float64) string {
	if v == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", v)
}
