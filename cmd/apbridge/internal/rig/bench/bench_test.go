package bench

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/proxy/store/storetest"
)

// TestBench measures the bridge and prints the results with their floors and goals. It only fails if runs fail. "make
// bench" sets APBRIDGE_BENCH. APBRIDGE_BENCH_ROWS selects measurements by comma-separated names, and
// APBRIDGE_BENCH_JSON names a file for the numbers. APBRIDGE_BENCH_BINARY names a binary to measure instead of building
// one, and APBRIDGE_BENCH_BESIDE a second one to measure in the same rounds without judging it.
//
// For ratios, the compared setups alternate within a round, so that other load on the machine affects all of them:
// direct (a client drives the agent), hop (the same through a bare reverse proxy), flush (only the disk) and the
// bridge. The bridge runs with defaults, with synchronous normal and, if APBRIDGE_TEST_POSTGRES is set, over
// PostgreSQL. Ratios are computed within a round, and the median of the rounds counts. The clients share this process.
// Agents, proxy and bridge are separate processes.
func TestBench(t *testing.T) {
	if os.Getenv("APBRIDGE_BENCH") == "" {
		t.Skip("a measurement of some minutes; run it with: make bench")
	}
	b := newBench(t)
	defer b.table.print(os.Stdout) // print the measurements even if something fails later
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

// The names of the two binaries that may be compared.
const (
	benchMeasured = "bridge"
	benchBeside   = "beside"
)

// version is a measured binary with its bridge in the default configuration.
type version struct {
	name, binary string
	bridge       *rig.Process
}

type bench struct {
	peers    benchPeers
	versions []version    // the measured one, then the second one if there is one
	full     *rig.Process // of the measured version, as it is by default
	flushed  string       // the folder of its database
	normal   *rig.Process // without a flush for each commit
	postgres *rig.Process // nil: no server to measure with
	table    *benchTable
}

func newBench(t *testing.T) *bench {
	b := &bench{peers: startPeers(t), table: &benchTable{}, flushed: t.TempDir()}
	binary := benchBinary(t)
	b.full = b.serve(t, binary, benchSetup{folder: b.flushed})
	b.normal = b.serve(t, binary, benchSetup{folder: t.TempDir(), synchronous: "normal"})
	b.versions = []version{{benchMeasured, binary, b.full}}
	if other := os.Getenv("APBRIDGE_BENCH_BESIDE"); other != "" {
		b.versions = append(b.versions, version{benchBeside, other, b.fresh(t, other)})
	}
	if os.Getenv(storetest.Variable) == "" {
		b.table.skip("PostgreSQL", storetest.Variable+" is not set")
	} else {
		b.postgres = b.serve(t, binary, benchSetup{folder: t.TempDir(), database: storetest.Schema(t)})
	}
	return b
}

// measurement is a part of the benchmark that can run on its own.
type measurement struct {
	name    string
	measure func(*testing.T)
}

func (b *bench) measurements() []measurement {
	return []measurement{
		{"paced", b.paced}, {"run", b.runs}, {"stream", b.streams}, {"create", b.creates}, {"task", b.tasks}, {"a2a", b.a2a}, {"burst", b.bursts}, {"open", b.openStreams}, {"tokens", b.tokens},
		{"history", b.history}, {"store", b.items}, {"vectors", b.vectors}, {"artifact", b.artifacts}, {"process", b.process},
		{"langgraph", b.langgraph},
	}
}

// chosen returns the measurements named by APBRIDGE_BENCH_ROWS, or all.
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

// way is one of the compared setups.
type way struct {
	name    string
	work    benchRun
	bridge  *rig.Process // whose CPU is counted; nil: none
	clients int          // 0: as many as are compared
}

// compare alternates between the setups and returns their samples by round.
func (b *bench) compare(t *testing.T, what string, clients int, ways ...way) *comparison {
	t.Helper()
	c := &comparison{what: what, samples: map[string][]benchSample{}, cpu: map[string][]time.Duration{}}
	for i, w := range ways {
		ways[i].clients = cmp.Or(w.clients, clients)
		benchLoad(t.Context(), ways[i].clients, benchRound/3, w.work) // warm up
	}
	for range benchRounds {
		for _, w := range ways {
			var before time.Duration
			if w.bridge != nil {
				before = w.bridge.CPU()
			}
			s := benchLoad(t.Context(), w.clients, benchRound, w.work)
			if s.failed > 0 || s.runs == 0 {
				t.Errorf("%s, %s, %d clients: %d runs, %d failed, last: %v", what, w.name, w.clients, s.runs, s.failed, s.lastErr)
			}
			if w.bridge != nil && s.runs > 0 {
				c.cpu[w.name] = append(c.cpu[w.name], (w.bridge.CPU()-before)/time.Duration(s.runs))
			}
			c.samples[w.name] = append(c.samples[w.name], s)
		}
	}
	for _, w := range ways {
		b.table.raw(c, w)
	}
	return c
}

// each holds the values of the measured binary and of the second one.
func (b *bench) each(value func(name string) float64) (m measured) {
	m.value = value(benchMeasured)
	if len(b.versions) > 1 {
		m.beside = value(benchBeside)
	}
	return m
}

func (b *bench) ratio(c *comparison, over string, of func(benchSample) float64) measured {
	return b.each(func(name string) float64 { return c.ratio(name, over, of) })
}

// through adds the same work through the bridge of each version.
func (b *bench) through(work func(base string) benchRun, ways ...way) []way {
	for _, v := range b.versions {
		ways = append(ways, way{name: v.name, work: work(v.bridge.URL), bridge: v.bridge})
	}
	return ways
}

// overPostgres adds the same work over PostgreSQL if there is a server.
func (b *bench) overPostgres(work func(base string) benchRun, ways []way) []way {
	if b.postgres == nil {
		return ways
	}
	return append(ways, way{name: "postgres", work: work(b.postgres.URL), bridge: b.postgres})
}

// comparePostgres compares PostgreSQL with SQLite.
func (b *bench) comparePostgres(c *comparison, what string) {
	if b.postgres != nil {
		b.table.figure(what+", PostgreSQL ÷ SQLite", alone(c.ratio("postgres", benchMeasured, benchSample.rate)), "×")
	}
}

func (b *bench) direct() way { return way{name: "direct", work: benchTask(b.peers.agent)} }

// flush is a setup that only flushes to the disk of the bridge's database.
func (b *bench) flush(t *testing.T) way {
	return way{name: "flush", work: benchFlush(t, b.flushed), clients: 1}
}

// paced measures realistic latency, with an agent whose steps take as long as a fast model.
func (b *bench) paced(t *testing.T) {
	wait := func(base string) benchRun { return benchWaitFor("paced", base) }
	direct := way{name: "direct", work: benchTask(b.peers.paced)}
	one := b.compare(t, "run of 20 ms steps", 1, b.through(wait, direct)...)
	b.table.atMost("run p50, agent of 20 ms, 1 client, ÷ direct", b.ratio(one, "direct", p50), "×", 1.06, 1.03)
	many := b.compare(t, "run of 20 ms steps", 32, b.through(wait, direct)...)
	b.table.atLeast("runs/s, agent of 20 ms, 32 clients, ÷ direct", b.ratio(many, "direct", benchSample.rate), "×", 0.85, 0.95)
}

func (b *bench) runs(t *testing.T) {
	hop, normal := way{name: "hop", work: benchTask(b.peers.hop)}, way{name: "normal", work: benchWait(b.normal.URL), bridge: b.normal}
	one := b.compare(t, "run", 1, b.overPostgres(benchWait, b.through(benchWait, b.flush(t), b.direct(), hop, normal))...)
	b.table.atMost("run p50, 1 client: added to direct beyond one flush", b.each(func(name string) float64 {
		return one.perRound(func(of round) float64 { return p50(of(name)) - p50(of("direct")) - p50(of("flush")) })
	}), "ms", 1.5, 0.8)
	b.table.figure("one flush of 4 kB, p50", alone(one.median("flush", p50)), "ms")
	many := b.compare(t, "run", 64, b.overPostgres(benchWait, b.through(benchWait, b.direct(), hop, normal))...)
	b.table.atLeast("capacity: runs/s, 64 clients, ÷ hop", b.ratio(many, "hop", benchSample.rate), "×", 0.6, 1.0)
	b.table.atLeast("capacity: runs/s, 64 clients, ÷ direct", b.ratio(many, "direct", benchSample.rate), "×", 0.22, 0.40)
	b.table.atMost("CPU of the bridge per run, 64 clients", b.each(many.cpuPerRun), "ms", 1.1, 0.5)
	b.table.figure("runs/s, 64 clients, normal instead of full", alone(many.ratio("normal", benchMeasured, benchSample.rate)), "×")
	b.comparePostgres(many, "runs/s, 64 clients")
}

func (b *bench) streams(t *testing.T) {
	beyond := func(c *comparison, p float64) measured {
		return b.each(func(name string) float64 {
			return c.perRound(func(of round) float64 { return firstEvent(p)(of(name)) - p50(of("flush")) })
		})
	}
	one := b.compare(t, "stream", 1, b.through(benchStream, b.flush(t))...)
	b.table.atMost("first event p50, 1 client, beyond one flush", beyond(one, 0.5), "ms", 1.5, 0.8)
	many := b.compare(t, "stream", 64, b.overPostgres(benchStream, b.through(benchStream, b.flush(t), b.direct()))...)
	b.table.atMost("first event p99, 64 clients, beyond one flush", beyond(many, 0.99), "ms", 80, 45)
	b.table.atLeast("streamed runs/s, 64 clients, ÷ direct", b.ratio(many, "direct", benchSample.rate), "×", 0.2, 0.33)
	b.comparePostgres(many, "streamed runs/s, 64 clients")
}

func (b *bench) creates(t *testing.T) {
	create := func(base string) benchRun { return benchCreate(base+"/threads", `{}`) }
	hop := way{name: "hop", work: benchCreate(b.peers.hop+"/ap/v1/agent/tasks", `{"input":"hi"}`)}
	c := b.compare(t, "create", 64, b.overPostgres(create, b.through(create, hop))...)
	b.table.atLeast("threads made/s, 64 clients, ÷ hop", b.ratio(c, "hop", benchSample.rate), "×", 0.9, 1.2)
	b.comparePostgres(c, "threads made/s, 64 clients")
}

// tasks drives tasks through the bridge with a thread/run agent.
func (b *bench) tasks(t *testing.T) {
	task := func(base string) benchRun { return benchTask(base + "/agents/threads") }
	for _, clients := range []int{1, 64} {
		c := b.compare(t, "task onto threads", clients, b.through(task, b.direct())...)
		what, ratio := fmt.Sprintf("tasks/s onto a thread/run agent, %d clients, ÷ direct", clients), b.ratio(c, "direct", benchSample.rate)
		if clients == 64 {
			b.table.atLeast(what, ratio, "×", 0.18, 0.25)
		} else {
			b.table.figure(what, ratio, "×")
		}
	}
}

// a2a compares the A2A face with the thread/run face, for the same agent.
func (b *bench) a2a(t *testing.T) {
	for _, x := range []struct {
		what, than string
		a2a, other func(base string) benchRun
	}{{"send", "/runs/wait", benchSend, benchWait}, {"stream", "/runs/stream", benchA2AStream, benchStream}} {
		for _, clients := range []int{1, 64} {
			other := way{name: "threadrun", work: x.other(b.full.URL), bridge: b.full}
			c := b.compare(t, "A2A "+x.what, clients, b.through(x.a2a, other)...)
			b.table.atLeast(fmt.Sprintf("A2A: %s/s, %d clients, ÷ %s", x.what, clients, x.than), b.ratio(c, "threadrun", benchSample.rate), "×", 0.8, 0.9)
		}
	}
}

// process measures the cost of an idle bridge.
func (b *bench) process(t *testing.T) {
	fresh, again, idle, size := samples{}, samples{}, samples{}, samples{}
	for range benchRounds {
		for _, v := range b.versions {
			setup := benchSetup{folder: t.TempDir()}
			first := b.serve(t, v.binary, setup)
			fresh.add(v.name, ms(first.Start))
			<-time.After(300 * time.Millisecond) // what idle means
			idle.add(v.name, first.RSS())
			first.Stop()
			second := b.serve(t, v.binary, setup)
			again.add(v.name, ms(second.Start))
			second.Stop()
		}
	}
	for _, v := range b.versions {
		info, err := os.Stat(v.binary)
		if err != nil {
			t.Fatal(err)
		}
		size.add(v.name, float64(info.Size())/(1<<20))
	}
	b.table.atMost("idle RSS", idle.measured(), "MB", 30, 18)
	b.table.atMost("start to ready, new database", fresh.measured(), "ms", 100, 25)
	b.table.atMost("start to ready, existing database", again.measured(), "ms", 100, 25)
	b.table.atMost("stripped static binary", size.measured(), "MB", 36, 28)
}

// samples holds the values of the versions by name.
type samples map[string][]float64

func (s samples) add(name string, value float64) { s[name] = append(s[name], value) }

// measured is the median of each.
func (s samples) measured() measured {
	return measured{median(s[benchMeasured]), median(s[benchBeside])}
}
