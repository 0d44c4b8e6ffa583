package main_test

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	burstRuns   = 1000
	burstRounds = 3
)

// bursts has 64 clients start background runs and go away: how long each waits
// until its run is accepted, and how soon all of them are done, the first POST
// included, beside clients who drive as many tasks themselves.
func (b *bench) bursts(t *testing.T) {
	accepted, drained := []float64{}, []float64{}
	start := benchCreate(b.full.url+"/runs", `{"agent_id":"instant","input":"hi"}`)
	for range burstRounds {
		direct := benchNumber(t.Context(), 64, burstRuns, benchTask(b.peers.agent))
		before, begin := b.full.ended(t), time.Now()
		burst := benchNumber(t.Context(), 64, burstRuns, start)
		if burst.failed > 0 {
			t.Fatalf("%d runs were not accepted, last: %v", burst.failed, burst.lastErr)
		}
		b.full.awaitEnded(t, before+burstRuns)
		drained = append(drained, float64(direct.elapsed)/float64(time.Since(begin)))
		accepted = append(accepted, ms(percentile(burst.took, 0.99)))
	}
	b.table.atMost("burst of 1,000 background runs, 64 clients: accept p99", median(accepted), "ms", 50, 20)
	b.table.atLeast("burst of 1,000 background runs, 64 clients: drain ÷ direct", median(drained), "×", 0.20, 0.30)
}

// ended is how many runs of the instant agent have ended well, by the bridge's
// own count.
func (b *benchBridge) ended(t *testing.T) int {
	t.Helper()
	text, err := benchGet(t.Context(), benchClients(1), b.url+"/metrics")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), `apbridge_runs_ended_total{agent="instant",status="success"} `)
	count, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.ParseFloat(count, 64)
	if err != nil && count != "" {
		t.Fatal(err)
	}
	return int(n)
}

func (b *benchBridge) awaitEnded(t *testing.T, want int) {
	t.Helper()
	tick, late := time.NewTicker(10*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for b.ended(t) < want {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%d of %d runs have ended", b.ended(t), want)
		}
	}
}
