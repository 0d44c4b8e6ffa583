package bench

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"text/tabwriter"
	"time"
)

// comparison holds the samples of alternating setups by name and round.
type comparison struct {
	what    string
	samples map[string][]benchSample
	cpu     map[string][]time.Duration
}

func p50(s benchSample) float64 { return ms(percentile(s.took, 0.5)) }

func firstEvent(p float64) func(benchSample) float64 {
	return func(s benchSample) float64 { return ms(percentile(s.first, p)) }
}

func (c *comparison) median(name string, value func(benchSample) float64) float64 {
	return c.perRound(func(of round) float64 { return value(of(name)) })
}

// ratio of two ways, taken round by round.
func (c *comparison) ratio(name, over string, value func(benchSample) float64) float64 {
	return c.perRound(func(of round) float64 { return value(of(name)) / value(of(over)) })
}

// round returns the measurements of a setup in one round.
type round func(name string) benchSample

// perRound is the median over the rounds.
func (c *comparison) perRound(value func(round) float64) float64 {
	list := []float64{}
	for i := range benchRounds {
		list = append(list, value(func(name string) benchSample { return c.samples[name][i] }))
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
	Value, Floor, Goal  float64 // Goal 0: the value is not judged
	Beside              float64 `json:",omitempty"` // 0: no second binary, or not measured with it
	smallerIsBetter     bool
}

// measured is one value of the measured binary and of the second one (0: none).
type measured struct{ value, beside float64 }

// alone is a value without a second one.
func alone(value float64) measured { return measured{value: value} }

func (t *benchTable) raw(c *comparison, w way) {
	t.Measured = append(t.Measured, benchRaw{
		What: c.what, Way: w.name, Clients: w.clients, PerSecond: c.median(w.name, benchSample.rate), P50: c.median(w.name, p50),
		P99: c.median(w.name, func(s benchSample) float64 { return ms(percentile(s.took, 0.99)) }), CPU: c.cpuPerRun(w.name),
	})
}

func (t *benchTable) atMost(what string, m measured, unit string, floor, goal float64) {
	t.add(benchRow{What: what, Unit: unit, Value: m.value, Beside: m.beside, Floor: floor, Goal: goal, smallerIsBetter: true})
}

func (t *benchTable) atLeast(what string, m measured, unit string, floor, goal float64) {
	t.add(benchRow{What: what, Unit: unit, Value: m.value, Beside: m.beside, Floor: floor, Goal: goal})
}

// figure is a value without a floor or goal.
func (t *benchTable) figure(what string, m measured, unit string) {
	t.add(benchRow{What: what, Unit: unit, Value: m.value, Beside: m.beside})
}

// skip says what could not be measured.
func (t *benchTable) skip(what, why string) {
	t.Rows = append(t.Rows, benchRow{What: what, Verdict: "skipped: " + why})
}

// add judges a row: GOAL, OK (only the floor is kept) or MISS.
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
	case keeps(r.Floor):
		r.Verdict = "OK"
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
	beside := slices.ContainsFunc(t.Rows, func(r benchRow) bool { return r.Beside != 0 })
	fmt.Fprint(tab, "what\tmeasured\tfloor\tgoal\tverdict")
	if beside {
		fmt.Fprint(tab, "\tbeside\tmeasured ÷ beside")
	}
	fmt.Fprintln(tab)
	for _, r := range t.Rows {
		fmt.Fprintf(tab, "%s\t%s\t%s\t%s\t%s", r.What, r.amount(r.Value), r.bound(r.Floor), r.bound(r.Goal), r.Verdict)
		if r.Beside != 0 {
			fmt.Fprintf(tab, "\t%s\t%s", r.amount(r.Beside), r.overBeside())
		}
		fmt.Fprintln(tab)
	}
	tab.Flush()
}

// overBeside compares the two binaries. The time in addition to a flush may be negative and then has no ratio.
func (r benchRow) overBeside() string {
	if r.Value <= 0 || r.Beside <= 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f ×", r.Value/r.Beside)
}

func (r benchRow) amount(v float64) string {
	if r.Unit == "" {
		return "–"
	}
	return fmt.Sprintf("%.3g %s", v, r.Unit)
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
