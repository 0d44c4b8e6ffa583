package service_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/eventlog"
	"github.com/apbridge/apbridge/proxy/store"
)

// updates are states of about a megabyte, each with a way to change it.
var updates = map[string]struct {
	first  string
	update func(n int) string
}{
	"a small key next to a large one": {
		`{"large":"` + strings.Repeat("x", 1<<20) + `","n":0}`,
		func(n int) string { return fmt.Sprintf(`{"n":%d}`, n) },
	},
	"a message after many others": {
		`{"messages":[` + manyMessages + `]}`,
		func(n int) string {
			return fmt.Sprintf(`{"messages":[{"id":"new%d","type":"human","content":"hi"}]}`, n)
		},
	},
	"all of it": {
		`{"large":"` + strings.Repeat("x", 1<<20) + `"}`,
		func(n int) string { return fmt.Sprintf(`{"large":"%d%s"}`, n, strings.Repeat("x", 1<<20)) },
	},
}

var manyMessages = func() string {
	var list []string
	for n := range 1000 {
		list = append(list, fmt.Sprintf(`{"id":"m%d","type":"human","content":"%s"}`, n, strings.Repeat("y", 1000)))
	}
	return strings.Join(list, ",")
}()

// The cost of an update depends only on its size. The hundredth update costs as much as the tenth, measured in
// allocations, with and without the states in memory. Reading a state costs at most about two states.
func TestCostOfAStateUpdateIsIndependentOfEarlierOnes(t *testing.T) { // not parallel: it counts allocations
	for name, u := range updates {
		for _, warm := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/warm %t", name, warm), func(t *testing.T) {
				b := setup(t)
				c := costs{b, b.threadWith(t, u.first), u.update, warm, 2}
				early := c.usual(t)
				for range 90 {
					c.one(t)
				}
				most := early*5/4 + 64<<10
				late := c.usual(t)
				for range 2 { // a real increase is seen twice, the effect of a collection only once
					if late > most {
						late = min(late, c.usual(t))
					}
				}
				t.Logf("%d kB allocated for an update, %d kB for one a hundred updates later", early>>10, late>>10)
				if late > most {
					t.Errorf("an update costs %d kB of memory in the beginning, and %d kB after a hundred", early>>10, late>>10)
				}
			})
		}
	}
}

// costs measures the successive updates of a thread.
type costs struct {
	*bench
	thread string
	update func(n int) string
	warm   bool
	n      int // number of the next update
}

// usual returns the average allocation of eight updates without the two most expensive ones. Rows are read into buffers
// of the database's client, of two megabytes for a state of one. They come from a pool and are occasionally allocated
// again: after a collection, or if a connection was closed or another processor has the buffer.
func (c *costs) usual(t *testing.T) (bytes uint64) {
	t.Helper()
	var each []uint64
	for range 8 {
		if !c.warm {
			c.Again(t)
		}
		each = append(each, c.one(t))
		c.readsLittle(t, c.thread)

	}
	slices.Sort(each)
	for _, n := range each[:6] {
		bytes += n
	}
	return bytes / 6
}

// one makes the next update and returns how many bytes it allocated.
func (c *costs) one(t *testing.T) uint64 {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := c.UpdateState(t.Context(), c.thread, adapter.StateUpdate{Values: raw(c.update(c.n))}); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	c.n++
	return after.TotalAlloc - before.TotalAlloc
}

func (b *bench) threadWith(t *testing.T, values string) string {
	t.Helper()
	th, err := b.CreateThread(t.Context(), adapter.ThreadRequest{ID: mapping.NewID()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.UpdateState(t.Context(), th.ID, adapter.StateUpdate{Values: raw(values)}); err != nil {
		t.Fatal(err)
	}
	return th.ID
}

// readsLittle fails if reading a thread's state costs more than about two states.
func (b *bench) readsLittle(t *testing.T, thread string) {
	t.Helper()
	s, err := b.Store.States.At(context.Background(), thread, "")
	if err != nil {
		t.Fatal(err)
	}
	f, err := eventlog.FoldState(s)
	if err != nil {
		t.Fatal(err)
	}
	if bytes := len(s.Snapshot) + s.DiffBytes; bytes > f.Size()*9/4 || len(s.Events) > store.RowsBetween(f.Size()) {
		t.Fatalf("a state of %d bytes is folded from %d bytes and %d rows", f.Size(), bytes, len(s.Events))
	}
}

// The history of state updates has snapshots like that of runs: no checkpoint has more differences than can be read
// quickly.
func TestFrequentlyUpdatedStatesGetSnapshots(t *testing.T) {
	t.Parallel()
	b := setup(t)
	thread := b.threadWith(t, `{}`)
	for n := range 200 {
		if n%60 == 59 {
			b.Again(t)
		}
		if _, err := b.UpdateState(t.Context(), thread, adapter.StateUpdate{Values: raw(fmt.Sprintf(`{"k%d":%d}`, n%3, n))}); err != nil {
			t.Fatal(err)
		}
		s, err := b.Store.States.At(t.Context(), thread, "")
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Events) > store.RowsBetween(0) {
			t.Fatalf("update %d is folded from %d rows", n, len(s.Events))
		}
	}
}
