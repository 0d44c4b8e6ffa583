package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/proxy/embedding/embeddingtest"
)

const vectorDims = 384

// vectorSizes returns the numbers of items in the stores that are searched by meaning. APBRIDGE_BENCH_VECTORS sets
// other sizes for a quick measurement.
func vectorSizes(t *testing.T) (sizes []int) {
	text := os.Getenv("APBRIDGE_BENCH_VECTORS")
	if text == "" {
		text = "10000,100000"
	}
	for size := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(size)
		if err != nil || n < 1 {
			t.Fatalf("APBRIDGE_BENCH_VECTORS: %q is no number of items", size)
		}
		sizes = append(sizes, n)
	}
	return sizes
}

// vectors puts and searches items with vectors, compared with LangGraph JS's in-memory store, which has the same
// embeddings and is called without a server.
func (b *bench) vectors(t *testing.T) {
	e := embeddingtest.Serve(t, vectorDims)
	for _, items := range vectorSizes(t) {
		folder := t.TempDir()
		bridge := rig.StartProcess(t, b.versions[0].binary, folder, fmt.Sprintf("database: %s\nagents: {a: {url: %q}}\nstore: {index: {dims: %d, embed: 'any:m', url: %q, batch: 256}}\n",
			filepath.Join(folder, "bench.db"), b.peers.agent, vectorDims, e.URL))
		s := itemStore{bridge.URL, items}
		before := e.Count()
		s.fill(t)
		embedded(t, e, before+items)
		search := b.compare(t, fmt.Sprintf("search of %d vectors", items), 1, way{name: benchMeasured, work: s.meaning(), bridge: bridge})
		put := b.compare(t, fmt.Sprintf("put beside %d vectors", items), 64, way{name: benchMeasured, work: s.put(), bridge: bridge})
		bridge.Stop()
		what := fmt.Sprintf("store of %d items of %d numbers: ", items, vectorDims)
		b.table.figure(what+"search by meaning, 1 client, p50", alone(search.median(benchMeasured, p50)), "ms")
		b.table.figure(what+"put, 64 clients", alone(put.median(benchMeasured, benchSample.rate)), "/s")
		b.vectorsThere(t, what, e.URL, items, search.median(benchMeasured, p50), put.median(benchMeasured, benchSample.rate))
	}
}

// vectorsThere makes the same measurements with LangGraph JS.
func (b *bench) vectorsThere(t *testing.T, what, endpoint string, items int, search, put float64) {
	folder := filepath.Join(rig.Root(t), ".e2e")
	if _, err := os.Stat(filepath.Join(folder, "node_modules")); err != nil {
		b.table.skip(what+"÷ LangGraph JS in memory", ".e2e/node_modules is not installed")
		return
	}
	out, err := exec.CommandContext(t.Context(), "node", filepath.Join(folder, "langgraph", "memory.mjs"), endpoint, strconv.Itoa(items)).Output()
	var there struct{ Search, Put float64 }
	if err == nil {
		err = json.Unmarshal(out, &there)
	}
	if err != nil {
		t.Errorf("LangGraph JS's store: %v", err)
		return
	}
	b.table.figure(what+"search by meaning, p50, LangGraph JS in memory ÷ bridge", alone(there.Search/search), "×")
	b.table.figure(what+"put ÷ LangGraph JS in memory", alone(put/there.Put), "×")
}

// embedded waits until vectors of n texts have been computed.
func embedded(t *testing.T, e *embeddingtest.Endpoint, texts int) {
	t.Helper()
	tick, late := time.NewTicker(20*time.Millisecond), time.After(15*time.Minute)
	defer tick.Stop()
	for e.Count() < texts {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%d of %d texts are vectors", e.Count(), texts)
		}
	}
}

// meaning searches all items, with a different query each time.
func (s itemStore) meaning() benchRun {
	var next atomic.Int64
	return func(ctx context.Context, c *http.Client) (time.Duration, error) {
		text, err := rig.Call(ctx, c, http.MethodPost, s.url+"/store/items/search", fmt.Sprintf(`{"namespace_prefix":["users"],"query":"recollection%d","limit":10}`, next.Add(1)))
		if err == nil && bytes.Count(text, []byte(`"score"`)) != 10 {
			err = fmt.Errorf("found %.100s", text)
		}
		return 0, err
	}
}
