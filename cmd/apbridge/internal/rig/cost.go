package rig

import (
	"runtime"
	"runtime/metrics"
	"time"
)

// Cost is the cost of one request for the process, including its own client and agent.
type Cost struct {
	Allocated float64 // bytes
	Live      float64 // maximum bytes after a collection
	Took      time.Duration
}

// MeasureUntil measures up to three times, until the cost fits. On a busy machine, a late collection counts more live
// memory, and pooled memory is reallocated after a collection. Code that is really too expensive fails each time.
func MeasureUntil(fits func(Cost) bool, what func()) (c Cost) {
	for range 3 {
		if c = Measure(what); fits(c) {
			break
		}
	}
	return c
}

// Measure calls a function and returns its cost. It is not for parallel tests, because it measures the whole process.
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
