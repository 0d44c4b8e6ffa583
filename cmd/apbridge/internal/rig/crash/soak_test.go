//go:build unix

package crash

import (
	"context"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/proxy/store/storetest"
)

// soakTime names the environment variable with the length of the soak, as a Go duration.
const soakTime = "APBRIDGE_TEST_SOAK"

// soakSeed names the environment variable that repeats the faults of an earlier soak.
const soakSeed = "APBRIDGE_TEST_SOAK_SEED"

const (
	soakReplicas = 3
	soakClients  = 8
	soakSettle   = 3 * time.Minute // for a lease to end, a take-over, and the steps that are left
)

// TestSoak runs clients of both faces against three bridges over one PostgreSQL. Meanwhile bridges are killed or
// suspended for longer than their lease, and the database server crashes. The observations of the clients are recorded.
// At the end the invariants INV1 to INV8 of docs/faults.md are checked on them.
func TestSoak(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv(soakTime))
	if err != nil {
		t.Skip(soakTime + " is not set to a duration; run it with: make soak")
	}
	seed := soakSeedOf(t)
	agent := newTally()
	cluster := storetest.Private(t, "synchronous_commit=on")
	s := &soak{t: t, cluster: cluster, agent: agent, random: rand.New(rand.NewPCG(seed, 0))}
	s.start(adaptertest.Serve(t, agent).URL)
	h := s.run(length)
	s.settle(h)
	logs := s.logs()
	for _, v := range h.violations(agent, logs) {
		t.Error(v)
		for _, line := range linesAbout(v, logs) {
			t.Log(line)
		}
	}
	s.measure()
	s.stop()
	checkRecord(t, cluster.URL(), false)
	t.Logf("seed %d: %s; faults: %v", seed, h.summary(), s.faults)
}

// soak holds the bridges, their database and their agent.
type soak struct {
	t        *testing.T
	cluster  *storetest.Cluster
	agent    *tally
	random   *rand.Rand // of the test's goroutine
	replicas []*replica
	faults   map[string]int
}

func (s *soak) start(agent string) {
	s.t.Helper()
	s.faults = map[string]int{}
	binary := rig.Binary(s.t)
	for range soakReplicas {
		r := &replica{t: s.t, binary: binary, dsn: s.cluster.URL(), agent: agent, address: rig.FreeAddress(s.t)}
		r.start()
		s.replicas = append(s.replicas, r)
	}
}

// run runs the clients while faults happen one after another.
func (s *soak) run(length time.Duration) *history {
	ctx, stop := context.WithTimeout(s.t.Context(), length)
	defer stop()
	h := &history{}
	var clients sync.WaitGroup
	for n := range soakClients {
		c := &soakClient{history: h, n: n}
		for _, r := range s.replicas {
			c.bridges = append(c.bridges, "http://"+r.address)
		}
		clients.Go(func() { c.work(ctx) })
	}
	s.disturb(ctx)
	clients.Wait()
	return h
}

// settle waits until every acknowledged run has ended.
func (s *soak) settle(h *history) {
	s.t.Helper()
	ctx, stop := context.WithTimeout(s.t.Context(), soakSettle)
	defer stop()
	c := &soakClient{history: h, n: soakClients}
	for _, r := range s.replicas {
		c.bridges = append(c.bridges, "http://"+r.address)
	}
	var readers sync.WaitGroup
	for _, r := range h.runs {
		readers.Go(func() { c.replay(ctx, r) })
	}
	for _, k := range h.tasks {
		readers.Go(func() { c.list(ctx, k) })
	}
	readers.Wait()
}

func (s *soak) logs() (all string) {
	for _, r := range s.replicas {
		all += r.said()
	}
	return all
}

func (s *soak) stop() {
	for _, r := range s.replicas {
		r.stop()
	}
}

var uuidIn = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// linesAbout returns the lines of the bridges' logs about the run or thread that a violation names.
func linesAbout(violation, logs string) (lines []string) {
	id := uuidIn.FindString(violation)
	for line := range strings.Lines(logs) {
		if id != "" && strings.Contains(line, id) && len(lines) < 20 {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return lines
}
