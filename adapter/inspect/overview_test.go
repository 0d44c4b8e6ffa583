package inspect

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
)

// A run is counted in the bars of its time, and in the sums of its agent.
func TestOverviewCountsEachRunOnce(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	run := func(agent string, status mapping.RunStatus, ago, took time.Duration, tokens int64) mapping.EndedRun {
		return mapping.EndedRun{Agent: agent, Status: status, CreatedAt: now.Add(-ago - took), EndedAt: now.Add(-ago), Usage: mapping.Usage{Input: tokens}}
	}
	a := &mapping.Activity{Now: now, Whole: true, Open: []mapping.OpenRuns{{Agent: "b", Queued: 2, Parked: 1}, {Agent: "a", Running: 1}}, Ended: []mapping.EndedRun{
		run("a", mapping.RunSuccess, -time.Second, time.Second, 1), // ended while the store was read
		run("a", mapping.RunError, time.Second, 3*time.Second, 2),
		run("gone", mapping.RunTimeout, 3*time.Minute, 5*time.Second, 0),
		run("a", mapping.RunInterrupted, 59*time.Minute, 7*time.Second, 3),
		run("a", mapping.RunInterrupted, 2*time.Hour, 0, 0),
		run("a", mapping.RunSuccess, 25*time.Hour, time.Second, 100),
	}}
	v := overviewOfRuns(a, []string{"b", "a", "idle"})
	var names []string
	for _, agent := range v.Agents {
		names = append(names, agent.Name)
	}
	if d := cmp.Diff([]string{"b", "a", "idle", "gone"}, names); d != "" {
		t.Fatal(d)
	}
	if v.Open != (openRuns{2, 1, 1}) || v.Agents[0].openRuns != (openRuns{2, 0, 1}) || v.Agents[1].Running != 1 {
		t.Errorf("%+v", v.Open)
	}
	if v.Hour.Runs != 4 || v.Hour.Failed != 2 || v.Day.Runs != 5 || v.Hour.PerMinute != 4.0/60 || *v.Hour.Usage != (usage{Input: 6}) || v.Since != nil {
		t.Errorf("%+v", v)
	}
	bars := v.Hour.Bars
	if n := len(bars); bars[n-1].Runs != 2 || bars[n-1].Failed != 1 || bars[n-1].Median != 1 || bars[n-2].Runs != 1 || bars[0].Runs != 1 || bars[0].Median != 7 {
		t.Errorf("%+v", bars)
	}
	if one := v.Agents[1]; one.Runs != 3 || one.Median != "3.0 s" || one.Slow != "7.0 s" || one.FailedShare() != "33%" || v.Agents[2].Median != "" {
		t.Errorf("%+v", one.period)
	}
	a.Whole = false
	if v := overviewOfRuns(a, nil); v.Since == nil || !v.Since.Equal(now.Add(-25*time.Hour)) {
		t.Errorf("%v", v.Since)
	}
}

func TestOverviewCountsOneRunInTheSingular(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	v := overviewOfRuns(&mapping.Activity{Now: now, Whole: true, Ended: []mapping.EndedRun{{Agent: "a", Status: mapping.RunSuccess, CreatedAt: now.Add(-2 * time.Second), EndedAt: now.Add(-time.Second)}}}, nil)
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/inspect/overview", nil)
	r.Header.Set("Accept", "text/html")
	w := httptest.NewRecorder()
	if err := new(server).show(w, r, overviewHTML, "Overview", v); err != nil {
		t.Fatal(err)
	}
	if text := w.Body.String(); strings.Contains(text, "1 runs") {
		t.Error(text)
	}
}

// The page states which runs of the last day are deleted and thus not counted.
func TestOverviewNamesMissingRuns(t *testing.T) {
	t.Parallel()
	for want, kept := range map[string][2]time.Duration{
		"": {24 * time.Hour, 48 * time.Hour},
		"Deleted runs are not counted: stateless runs are kept for 1 h (retention.stateless).":       {time.Hour, 24 * time.Hour},
		"Deleted runs are not counted: failed stateless runs are kept for 5 min (retention.failed).": {24 * time.Hour, 5 * time.Minute},
	} {
		if got := missingRuns(kept[0], kept[1]); got != want {
			t.Errorf("%v: %q, want %q", kept, got, want)
		}
	}
}
