package engine

import (
	"sync/atomic"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// A run that leaves without having ended has not failed: its calls are stored only with "all".
func TestCallsAreCapturedByStatusOfTheRun(t *testing.T) {
	t.Parallel()
	for status, failed := range map[mapping.RunStatus]bool{
		mapping.RunSuccess: false, mapping.RunInterrupted: false, mapping.RunError: true, mapping.RunTimeout: true,
		statusParked: false, statusHandedOver: false,
	} {
		for capture, want := range map[string]bool{captureOff: false, captureErrors: failed, captureAll: true} {
			if got := captured(capture, status); got != want {
				t.Errorf("capture %s, run %s: %v", capture, status, got)
			}
		}
	}
	for want, out := range map[mapping.RunStatus]mapping.Outcome{
		statusParked:       {Parked: true, Status: mapping.RunSuccess},
		statusHandedOver:   {},
		mapping.RunTimeout: {Status: mapping.RunTimeout},
	} {
		if got := statusOf(out); got != want {
			t.Errorf("%+v leaves as %s, want %s", out, got, want)
		}
	}
}

// keptOf is a call with bodies of the given size.
type keptOf int

func (k keptOf) Reserved() int { return int(k) }

func (k keptOf) Shown() adapter.AgentCall {
	return adapter.AgentCall{Sent: adapter.CallPart{Size: int64(k)}}
}

const callsKept = 256

// exchange makes calls, each with as much of its body as there is room for.
func exchange(k *callLog, times, size int) {
	for range times {
		if k.Begin() {
			k.End(keptOf(k.Reserve(size)))
		}
	}
}

// A run keeps its newest calls with their numbers, and at most one run's share of bodies.
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
		"large":        {40, 64 << 10, 16, 25, maxRunCallBytes},
		"without room": {2, 2 * maxRunCallBytes, 1, 2, maxRunCallBytes},
		"empty":        {callsKept + 1, 0, callsKept, 2, 0},
	} {
		k := newCallLog(new(atomic.Int64), callsKept)
		exchange(k, one.times, one.size)
		list := k.list()
		if len(list) != one.kept || list[0].N != one.first || list[len(list)-1].N != int64(one.times) || k.total.Load() != one.memory {
			t.Errorf("%s: %d calls from %d to %d with %d bytes", name, len(list), list[0].N, list[len(list)-1].N, k.total.Load())
		}
		k.close()
		if exchange(k, 2, 100); len(k.list()) != 0 || k.total.Load() != 0 {
			t.Errorf("%s: after close: %d calls with %d bytes", name, len(k.list()), k.total.Load())
		}
	}
}

// The bodies of all running runs are limited together. Further calls are kept without their bodies, and there is room
// again when a run leaves.
func TestCallsOfAllRunsAreBounded(t *testing.T) {
	t.Parallel()
	all, runs := new(atomic.Int64), []*callLog{}
	for range maxCallBytes / maxRunCallBytes {
		k := newCallLog(all, callsKept)
		exchange(k, 16, 64<<10)
		runs = append(runs, k)
	}
	late := newCallLog(all, callsKept)
	exchange(late, 1, 100)
	if list := late.list(); all.Load() != maxCallBytes || len(list) != 1 || list[0].Sent.Size != 0 {
		t.Errorf("%d bytes in total; calls beyond the limit: %+v", all.Load(), list)
	}
	runs[0].close()
	if exchange(late, 1, 100); late.list()[1].Sent.Size != 100 {
		t.Errorf("no space after the calls of a run were dropped: %+v", late.list())
	}
}
