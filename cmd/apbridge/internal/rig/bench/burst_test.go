package bench

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

const (
	burstRuns   = 1000
	burstRounds = 3
)

// bursts measures 64 clients that start background runs and leave: the time until each run is accepted, and the time
// from the first POST until all runs are done. It compares them with clients that drive as many tasks themselves.
func (b *bench) bursts(t *testing.T) {
	accepted, drained := samples{}, samples{}
	for range burstRounds {
		direct := benchNumber(t.Context(), 64, burstRuns, benchTask(b.peers.agent))
		for _, v := range b.versions {
			took, accept := burst(v.bridge, t)
			drained.add(v.name, float64(direct.elapsed)/float64(took))
			accepted.add(v.name, accept)
		}
	}
	b.table.atMost("burst of 1,000 background runs, 64 clients: accept p99", accepted.measured(), "ms", 60, 20)
	b.table.atLeast("burst of 1,000 background runs, 64 clients: drain ÷ direct", drained.measured(), "×", 0.20, 0.30)
}

// burst starts the runs and waits for the last end. accept is the 99th percentile, in ms.
func burst(b *rig.Process, t *testing.T) (took time.Duration, accept float64) {
	t.Helper()
	before, begin := ended(b, t), time.Now()
	burst := benchNumber(t.Context(), 64, burstRuns, benchCreate(b.URL+"/runs", `{"agent_id":"instant","input":"hi"}`))
	if burst.failed > 0 {
		t.Fatalf("%d runs were not accepted, last: %v", burst.failed, burst.lastErr)
	}
	awaitEnded(b, t, before+burstRuns)
	return time.Since(begin), ms(percentile(burst.took, 0.99))
}

// ended returns the number of successful runs of the instant agent according to the bridge's metrics.
func ended(b *rig.Process, t *testing.T) int {
	t.Helper()
	text, err := benchGet(t.Context(), benchClients(1), b.URL+"/metrics")
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

func awaitEnded(b *rig.Process, t *testing.T, want int) {
	t.Helper()
	tick, late := time.NewTicker(10*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for ended(b, t) < want {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%d of %d runs have ended", ended(b, t), want)
		}
	}
}
