package inspect

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

var overviewHTML = newPage("overview", "overview", "overview.js")

// The charts of the overview end now. Each has chartBars bars.
const (
	chartBars  = 30
	chartHour  = 2 * time.Minute  // of a bar, for the last hour
	chartDay   = 48 * time.Minute // for the last day
	overviewOf = chartBars * chartDay
)

// overview is the page that the tab of the inspector opens. It summarizes the runs that the caller can see. The numbers come
// from the database, which all processes share.
type overview struct {
	At      time.Time     `json:"at"`
	Since   *time.Time    `json:"since,omitempty"` // the oldest run that was counted, if there were too many
	Waiting int           `json:"waiting"`         // threads with an open question
	Open    openRuns      `json:"open"`
	Hour    period        `json:"last_hour"`
	Day     period        `json:"last_day"`
	Missing string        `json:"missing,omitempty"` // which runs of the last day are not counted, as a sentence
	Agents  []agentHealth `json:"agents"`
	Mark    string        `json:"-"` // of the event stream
}

type openRuns struct {
	Queued  int `json:"queued"`
	Running int `json:"running"`
	Parked  int `json:"parked"`
}

// period summarizes the runs that ended in a period.
type period struct {
	Runs      int       `json:"runs"`
	Failed    int       `json:"failed"`
	PerMinute float64   `json:"runs_per_minute"`
	Usage     *usage    `json:"usage,omitempty"`
	Median    string    `json:"median,omitempty"` // duration of a run; "" if none ended
	Slow      string    `json:"slow,omitempty"`   // the 95th percentile
	Bars      []runsBar `json:"bars"`             // oldest first

	took []time.Duration
	sum  mapping.Usage
}

// runsBar is a bar of a chart.
type runsBar struct {
	At     time.Time `json:"at"` // its beginning
	Runs   int       `json:"runs"`
	Failed int       `json:"failed"`
	Median float64   `json:"median_seconds"`

	took []time.Duration
}

// agentHealth is an agent with its runs in the last hour.
type agentHealth struct {
	Name  string `json:"name"`
	State string `json:"state"` // as seen by this process; "" for an agent that is no longer configured
	Mark  string `json:"-"`
	Query string `json:"-"` // of its runs
	openRuns
	period
}

// FailedShare returns the share of failed runs in percent, for display.
func (p period) FailedShare() string {
	switch share := 100 * float64(p.Failed) / float64(max(1, p.Runs)); {
	case p.Failed == 0:
		return "0%"
	case share < 1:
		return "under 1%"
	default:
		return fmt.Sprintf("%.0f%%", share)
	}
}

// Rate returns the runs per minute, for display.
func (p period) Rate() string {
	switch {
	case p.Runs == 0:
		return "0"
	case p.PerMinute < 0.01:
		return "under 0.01"
	case p.PerMinute < 1:
		return fmt.Sprintf("%.2f", p.PerMinute)
	case p.PerMinute < 10:
		return fmt.Sprintf("%.1f", p.PerMinute)
	}
	return fmt.Sprintf("%.0f", p.PerMinute)
}

// Most returns the highest bar, and at least 1.
func (p period) Most() int {
	most := 1
	for _, b := range p.Bars {
		most = max(most, b.Runs)
	}
	return most
}

// Longest returns the longest median in seconds.
func (p period) Longest() (seconds float64) {
	for _, b := range p.Bars {
		seconds = max(seconds, b.Median)
	}
	return seconds
}

func newPeriod(now time.Time, each time.Duration) period {
	p := period{Bars: make([]runsBar, chartBars)}
	for i := range p.Bars {
		p.Bars[i].At = now.Add(-time.Duration(chartBars-i) * each)
	}
	return p
}

// add counts a run, unless it ended before the period.
func (p *period) add(r *mapping.EndedRun) {
	width := p.Bars[1].At.Sub(p.Bars[0].At)
	since := r.EndedAt.Sub(p.Bars[0].At)
	if since < 0 {
		return
	}
	b := &p.Bars[min(int(since/width), chartBars-1)] // a run can end while the store is read
	p.Runs++
	b.Runs++
	if r.Status == mapping.RunError || r.Status == mapping.RunTimeout {
		p.Failed++
		b.Failed++
	}
	took := max(0, r.EndedAt.Sub(r.CreatedAt))
	p.took, b.took = append(p.took, took), append(b.took, took)
	p.sum = p.sum.Plus(r.Usage)
}

// finish computes the sums and the percentiles.
func (p *period) finish() {
	p.PerMinute = float64(p.Runs) / (chartBars * p.Bars[1].At.Sub(p.Bars[0].At).Minutes())
	p.Usage = usageOrNil(p.sum)
	if len(p.took) > 0 {
		p.Median, p.Slow = mapping.Span(percentile(p.took, 50)), mapping.Span(percentile(p.took, 95))
	}
	for i := range p.Bars {
		if b := &p.Bars[i]; len(b.took) > 0 {
			b.Median = percentile(b.took, 50).Seconds()
		}
	}
}

// percentile sorts the list, which must not be empty, and returns its nth percentile (nearest rank).
func percentile(list []time.Duration, n int) time.Duration {
	slices.Sort(list)
	return list[max(0, (len(list)*n+99)/100-1)]
}

func (s *server) overviewPage(w http.ResponseWriter, r *http.Request) error {
	v, err := s.viewOverview(r.Context())
	if err != nil {
		return err
	}
	return s.show(w, r, overviewHTML, "Overview", v)
}

func (s *server) viewOverview(ctx context.Context) (v overview, err error) {
	mark, err := s.markActivity(ctx) // before the numbers, so that no change is missed
	if err != nil {
		return v, err
	}
	a, err := s.Service.RunActivity(ctx, time.Now().Add(-overviewOf))
	if err != nil {
		return v, err
	}
	names, err := s.agentNames(ctx, "")
	if err != nil {
		return v, err
	}
	v = overviewOfRuns(&a, names)
	v.Mark, v.Missing = mark, missingRuns(s.Kept())
	if v.Waiting, err = s.Service.CountThreads(ctx, adapter.ThreadSearch{ThreadQuery: openQuestions}); err != nil {
		return v, err
	}
	infos := s.About(ctx, names)
	for i := range v.Agents {
		agent := &v.Agents[i]
		agent.Mark, agent.Query = "unsure", runFilter{Agent: agent.Name}.address("")
		if info, ok := infos[agent.Name]; ok {
			agent.State, agent.Mark = info.State, markOfAgent(info)
		}
	}
	return v, nil
}

// missingRuns returns a sentence about runs that are deleted in less than a day, or "" if there are none.
func missingRuns(stateless, failed time.Duration) string {
	var deleted []string
	add := func(runs string, kept time.Duration, setting string) {
		if kept < overviewOf {
			span := strings.TrimSuffix(strings.TrimSuffix(mapping.Span(kept), " 0 min"), " 0 s")
			deleted = append(deleted, fmt.Sprintf("%s are kept for %s (%s)", runs, span, setting))
		}
	}
	add("stateless runs", stateless, "retention.stateless")
	add("failed stateless runs", failed, "retention.failed")
	if deleted == nil {
		return ""
	}
	return "Deleted runs are not counted: " + strings.Join(deleted, ", and ") + "."
}

// overviewOfRuns returns the numbers of all runs and of each agent. The named agents come first, in their order.
func overviewOfRuns(a *mapping.Activity, names []string) overview {
	v := overview{At: a.Now, Hour: newPeriod(a.Now, chartHour), Day: newPeriod(a.Now, chartDay), Agents: []agentHealth{}}
	at := map[string]int{}
	agent := func(name string) *agentHealth {
		n, ok := at[name]
		if !ok {
			n = len(v.Agents)
			at[name] = n
			v.Agents = append(v.Agents, agentHealth{Name: name, period: newPeriod(a.Now, chartHour)})
		}
		return &v.Agents[n]
	}
	for _, name := range names {
		agent(name)
	}
	for i := range a.Ended {
		r := &a.Ended[i]
		v.Day.add(r)
		v.Hour.add(r)
		if !r.EndedAt.Before(v.Hour.Bars[0].At) {
			agent(r.Agent).add(r)
		}
	}
	for _, o := range a.Open {
		one := openRuns{o.Queued, o.Running, o.Parked}
		agent(o.Agent).openRuns = one
		v.Open = openRuns{v.Open.Queued + one.Queued, v.Open.Running + one.Running, v.Open.Parked + one.Parked}
	}
	slices.SortStableFunc(v.Agents[min(len(names), len(v.Agents)):], func(x, y agentHealth) int { return cmp.Compare(x.Name, y.Name) })
	v.Day.finish()
	v.Hour.finish()
	for i := range v.Agents {
		v.Agents[i].finish()
	}
	if n := len(a.Ended); !a.Whole && n > 0 {
		v.Since = &a.Ended[n-1].EndedAt
	}
	return v
}

// markActivity returns a mark that changes when a run ends, when the unfinished runs change, and every minute, because the
// charts end at the present time. It reads few runs.
func (s *server) markActivity(ctx context.Context) (string, error) {
	minute := time.Now().Truncate(time.Minute)
	a, err := s.Service.RunActivity(ctx, minute.Add(-time.Minute))
	newest := time.Time{}
	if len(a.Ended) > 0 {
		newest = a.Ended[0].EndedAt
	}
	slices.SortFunc(a.Open, func(x, y mapping.OpenRuns) int { return cmp.Compare(x.Agent, y.Agent) })
	return url.QueryEscape(fmt.Sprint(newest.UnixMicro(), a.Open, minute.Unix())), err
}

func (s *server) followOverview(w http.ResponseWriter, r *http.Request) error {
	return s.follow(w, r, s.markActivity)
}
