package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/proxy/store/storetest"
)

// TestBench measures the bridge and prints the result beside its floors and
// goals. It is no check: it fails only when runs fail. "make bench" sets
// APBRIDGE_BENCH; APBRIDGE_BENCH_ROWS chooses among the measurements, by names
// with commas between; APBRIDGE_BENCH_JSON names a file for the numbers.
//
// Where a ratio is printed, the ways of working that it compares alternate
// within one round, so that whatever else the machine does hits all of them:
// direct (a client drives the instant agent), hop (the same through a bare
// reverse proxy) and the bridge, with both settings of synchronous and, where
// APBRIDGE_TEST_POSTGRES is set, over PostgreSQL. Ratios are taken within a
// round; the median of the rounds counts. The clients share this process;
// agents, proxy and bridge are processes of their own.
func TestBench(t *testing.T) {
	if os.Getenv("APBRIDGE_BENCH") == "" {
		t.Skip("a measurement of some minutes; run it with: make bench")
	}
	b := newBench(t)
	defer b.table.print(os.Stdout) // what was measured, also where something then fails
	for _, m := range b.chosen(t) {
		begin := time.Now()
		m.measure(t)
		t.Logf("%s took %s", m.name, time.Since(begin).Round(time.Second))
	}
	if file := os.Getenv("APBRIDGE_BENCH_JSON"); file != "" {
		text, err := json.MarshalIndent(b.table, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

const (
	benchRounds = 5
	benchRound  = 2 * time.Second
)

type bench struct {
	binary       string
	peers        benchPeers
	normal, full *benchBridge
	postgres     *benchBridge // nil: no server to measure with
	table        *benchTable
}

func newBench(t *testing.T) *bench {
	b := &bench{binary: benchBuild(t), peers: startPeers(t), table: &benchTable{}}
	b.normal = b.serve(t, benchSetup{folder: t.TempDir(), synchronous: "normal"})
	b.full = b.fresh(t)
	if os.Getenv(storetest.Variable) == "" {
		b.table.skip("PostgreSQL", storetest.Variable+" is not set")
	} else {
		b.postgres = b.serve(t, benchSetup{folder: t.TempDir(), database: storetest.Schema(t), synchronous: "full"})
	}
	return b
}

// measurement is a part of the benchmark that can be made by itself.
type measurement struct {
	name    string
	measure func(*testing.T)
}

func (b *bench) measurements() []measurement {
	return []measurement{
		{"run", b.runs}, {"stream", b.streams}, {"create", b.creates}, {"task", b.tasks}, {"burst", b.bursts}, {"open", b.openStreams},
		{"history", b.history}, {"store", b.items}, {"artifact", b.artifacts}, {"process", b.process},
		{"langgraph", b.beside},
	}
}

// chosen are the measurements that APBRIDGE_BENCH_ROWS names; all without it.
func (b *bench) chosen(t *testing.T) []measurement {
	all := b.measurements()
	names := strings.FieldsFunc(os.Getenv("APBRIDGE_BENCH_ROWS"), func(r rune) bool { return r == ',' || r == ' ' })
	if len(names) == 0 {
		return all
	}
	var list []measurement
	for _, name := range names {
		i := slices.IndexFunc(all, func(m measurement) bool { return m.name == name })
		if i < 0 {
			t.Fatalf("APBRIDGE_BENCH_ROWS: there is no %q", name)
		}
		list = append(list, all[i])
	}
	return list
}

// way is one of the compared ways of working.
type way struct {
	name   string
	work   benchRun
	bridge *benchBridge // whose CPU is counted; nil: none
}

// compare lets the ways alternate and gives their samples, round by round.
func (b *bench) compare(t *testing.T, what string, clients int, ways ...way) *comparison {
	t.Helper()
	c := &comparison{what: what, clients: clients, samples: map[string][]benchSample{}, cpu: map[string][]time.Duration{}}
	for _, w := range ways {
		benchLoad(t.Context(), clients, benchRound/3, w.work) // warm up
	}
	for range benchRounds {
		for _, w := range ways {
			var before time.Duration
			if w.bridge != nil {
				before = w.bridge.cpu()
			}
			s := benchLoad(t.Context(), clients, benchRound, w.work)
			if s.failed > 0 || s.runs == 0 {
				t.Errorf("%s, %s, %d clients: %d runs, %d failed, last: %v", what, w.name, clients, s.runs, s.failed, s.lastErr)
			}
			if w.bridge != nil && s.runs > 0 {
				c.cpu[w.name] = append(c.cpu[w.name], (w.bridge.cpu()-before)/time.Duration(s.runs))
			}
			c.samples[w.name] = append(c.samples[w.name], s)
		}
	}
	for _, w := range ways {
		b.table.raw(c, w.name)
	}
	return c
}

func (b *bench) runs(t *testing.T) {
	for _, clients := range []int{1, 16, 64} {
		c := b.compare(t, "run", clients, b.overPostgres(benchWait,
			way{"direct", benchTask(b.peers.agent), nil}, way{"hop", benchTask(b.peers.hop), nil},
			way{"normal", benchWait(b.normal.url), b.normal}, way{"full", benchWait(b.full.url), b.full})...)
		switch clients {
		case 1:
			const calls = benchSteps + 1
			b.table.atMost("run p50, 1 client, synchronous normal ÷ direct", c.ratio("normal", "direct", p50), "×", 2.8, 2.0)
			b.table.atMost("run p50, 1 client, synchronous full ÷ direct", c.ratio("full", "direct", p50), "×", 0, 2.8)
			b.table.atMost("added per upstream call, 1 client, normal", c.added("normal", "direct")/calls, "ms", 0.25, 0.15)
			b.table.atMost("added per upstream call, 1 client, full", c.added("full", "direct")/calls, "ms", 0, 0.25)
		case 64:
			b.table.atLeast("runs/s, 64 clients, full ÷ direct", c.ratio("full", "direct", benchSample.rate), "×", 0.28, 0.40)
			b.table.atLeast("runs/s, 64 clients, full ÷ hop", c.ratio("full", "hop", benchSample.rate), "×", 0.7, 1.0)
			b.table.atLeast("runs/s, 64 clients, full ÷ normal", c.ratio("full", "normal", benchSample.rate), "×", 0.85, 0.95)
			b.table.atMost("CPU of the bridge per run", c.cpuPerRun("full"), "ms", 1.0, 0.5)
			b.besidePostgres(c, "runs/s, 64 clients")
		}
	}
}

func (b *bench) streams(t *testing.T) {
	one := b.compare(t, "stream", 1, way{"full", benchStream(b.full.url), b.full})
	b.table.atMost("first event p50, 1 client", one.median("full", firstEvent(0.5)), "ms", 1.5, 0.8)
	many := b.compare(t, "stream", 64, b.overPostgres(benchStream,
		way{"direct", benchTask(b.peers.agent), nil}, way{"full", benchStream(b.full.url), b.full})...)
	b.table.atMost("first event p99, 64 clients", many.median("full", firstEvent(0.99)), "ms", 80, 45)
	b.table.atLeast("streamed runs/s, 64 clients, full ÷ direct", many.ratio("full", "direct", benchSample.rate), "×", 0.25, 0.33)
	b.besidePostgres(many, "streamed runs/s, 64 clients")
}

func (b *bench) creates(t *testing.T) {
	create := func(base string) benchRun { return benchCreate(base+"/threads", `{}`) }
	c := b.compare(t, "create", 64, b.overPostgres(create,
		way{"hop", benchCreate(b.peers.hop+"/ap/v1/agent/tasks", `{"input":"hi"}`), nil},
		way{"full", create(b.full.url), b.full})...)
	b.table.atLeast("threads made/s, 64 clients, full ÷ hop", c.ratio("full", "hop", benchSample.rate), "×", 0.9, 1.2)
	b.besidePostgres(c, "threads made/s, 64 clients")
}

// tasks drives tasks through the bridge onto a thread/run agent.
func (b *bench) tasks(t *testing.T) {
	for _, clients := range []int{1, 16, 64} {
		c := b.compare(t, "task onto threads", clients,
			way{"direct", benchTask(b.peers.agent), nil}, way{"full", benchTask(b.full.url + "/agents/threads"), b.full})
		what, ratio := fmt.Sprintf("tasks/s onto a thread/run agent, %d clients, ÷ direct", clients), c.ratio("full", "direct", benchSample.rate)
		if clients == 64 {
			b.table.atLeast(what, ratio, "×", 0.18, 0.25)
		} else {
			b.table.figure(what, ratio, "×")
		}
	}
}

// overPostgres adds the same work over PostgreSQL, where there is a server.
func (b *bench) overPostgres(work func(base string) benchRun, ways ...way) []way {
	if b.postgres == nil {
		return ways
	}
	return append(ways, way{"postgres", work(b.postgres.url), b.postgres})
}

// besidePostgres says how PostgreSQL compares with SQLite.
func (b *bench) besidePostgres(c *comparison, what string) {
	if b.postgres != nil {
		b.table.figure(what+", PostgreSQL ÷ SQLite", c.ratio("postgres", "full", benchSample.rate), "×")
	}
}

// process measures what a bridge costs that nobody uses.
func (b *bench) process(t *testing.T) {
	fresh, again, idle := []float64{}, []float64{}, []float64{}
	for range benchRounds {
		folder := t.TempDir()
		first := b.serve(t, benchSetup{folder: folder, synchronous: "full"})
		fresh = append(fresh, ms(first.start))
		<-time.After(300 * time.Millisecond) // what idle means
		idle = append(idle, first.rss())
		first.stop()
		second := b.serve(t, benchSetup{folder: folder, synchronous: "full"})
		again = append(again, ms(second.start))
		second.stop()
	}
	info, err := os.Stat(b.binary)
	if err != nil {
		t.Fatal(err)
	}
	b.table.atMost("idle RSS", median(idle), "MB", 30, 18)
	b.table.atMost("start to ready, new database", median(fresh), "ms", 100, 25)
	b.table.atMost("start to ready, existing database", median(again), "ms", 100, 25)
	b.table.atMost(fmt.Sprintf("stripped static binary (%s)", filepath.Base(b.binary)), float64(info.Size())/(1<<20), "MB", 32, 24)
}
