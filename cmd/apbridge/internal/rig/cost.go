package rig

import (
	"runtime"
	"runtime/metrics"
	"time"
)

// Cost is what one request cost the process, its own client and agent included.
type Cost struct {
	Allocated float64 // bytes
	Live      float64 // bytes that a collection left, at most
	Took      time.Duration
}

// MeasureUntil measures up to three times, until the cost fits: a collection that comes late on a busy machine has more
// live meanwhile, and after one what pools held is allocated anew. What costs too much does so each time.
func MeasureUntil(fits func(Cost) bool, what func()) (c Cost) {
	for range 3 {
		if c = Measure(what); fits(c) {
			break
		}
	}
	return c
}

// Measure calls a function and returns what that cost. It is not for parallel tests: the counts are those of the whole
// process.
func Measure(what func()) Cost {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	stop, most := make(chan struct{}), make(chan uint64)
	go func() {
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		var peak uint64
		for {
			select {
			case <-tick.C:
				live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
				metrics.Read(live)
				peak = max(peak, live[0].Value.Uint64())
			case <-stop:
				most <- peak
				return
			}
		}
	}()
	begin := time.Now()
	what()
	took := time.Since(begin)
	close(stop)
	live := <-most
	runtime.ReadMemStats(&after)
	return Cost{float64(after.TotalAlloc - before.TotalAlloc), float64(max(live, before.HeapAlloc) - before.HeapAlloc), took}
}
