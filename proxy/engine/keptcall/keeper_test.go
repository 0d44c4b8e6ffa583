package keptcall

import (
	"testing"

	"github.com/apbridge/apbridge/adapter"
)

// keptOf is a call with so much of bodies.
type keptOf int

func (k keptOf) Room() int { return int(k) }

func (k keptOf) Shown() adapter.AgentCall {
	return adapter.AgentCall{Sent: adapter.CallPart{Size: int64(k)}}
}

// callsKept is how many calls the keepers below keep.
const callsKept = 256

// exchange has a run make calls, each with as much of its body as there is room for.
func exchange(k *Keeper, times, size int) {
	for range times {
		if k.Begin() {
			k.End(keptOf(k.Room(size)))
		}
	}
}

// TestCallsOfARunAreBounded: the newest are kept, with the numbers that they had, and of their bodies no more than one
// run may hold.
func TestCallsOfARunAreBounded(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		times, size int
		kept        int
		first       int64
		memory      int64
	}{
		"few":          {3, 100, 3, 1, 300},
		"many":         {callsKept + 50, 100, callsKept, 51, 100 * callsKept},
		"large":        {40, 64 << 10, 16, 25, callMemory},
		"without room": {2, 2 * callMemory, 1, 2, callMemory},
		"empty":        {callsKept + 1, 0, callsKept, 2, 0},
	} {
		k := In(new(Budget), callsKept)
		exchange(k, one.times, one.size)
		list := k.List()
		if len(list) != one.kept || list[0].N != one.first || list[len(list)-1].N != int64(one.times) || k.all.bytes.Load() != one.memory {
			t.Errorf("%s: %d calls from %d to %d with %d bytes", name, len(list), list[0].N, list[len(list)-1].N, k.all.bytes.Load())
		}
		k.Forget()
		if exchange(k, 2, 100); len(k.List()) != 0 || k.all.bytes.Load() != 0 {
			t.Errorf("%s: after it was forgotten there are %d calls with %d bytes", name, len(k.List()), k.all.bytes.Load())
		}
	}
}

// TestCallsOfAllRunsAreBounded: runs at work hold bodies up to a bound together; a call beyond it is kept without its
// body, and there is room again when a run leaves.
func TestCallsOfAllRunsAreBounded(t *testing.T) {
	t.Parallel()
	all, runs := new(Budget), []*Keeper{}
	for range callsMemory / callMemory {
		k := In(all, callsKept)
		exchange(k, 16, 64<<10)
		runs = append(runs, k)
	}
	late := In(all, callsKept)
	exchange(late, 1, 100)
	if list := late.List(); all.bytes.Load() != callsMemory || len(list) != 1 || list[0].Sent.Size != 0 {
		t.Errorf("%d bytes of all; beyond them %+v", all.bytes.Load(), list)
	}
	runs[0].Forget()
	if exchange(late, 1, 100); late.List()[1].Sent.Size != 100 {
		t.Errorf("no room after a run has left: %+v", late.List())
	}
}
