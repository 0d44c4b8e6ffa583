package main

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"time"
)

// What lives is little as a rule, beside what passes through: collecting only at
// five times of it costs a few megabytes and saves a tenth of the work. Where
// much lives, as with thousands of open streams, that would be hundreds of
// megabytes of nothing, and collecting more often costs little, since streams
// make little garbage. Nor does it cost much where what lives is mostly plain
// bytes, as with pieces of large files: only pointers are followed.
const (
	headroom     = 80 << 20 // bytes that may wait to be collected, at most
	perScanned   = 3        // and for each byte that may hold pointers
	mostPercent  = 400      // of what lives
	leastPercent = 30
	lookEvery    = 250 * time.Millisecond // what many streams take that come at once is not given back soon
)

// collectPercent is GOGC for so many bytes that live, beside so many, living or
// not, that may hold pointers.
func collectPercent(lives, scanned uint64) int {
	wait := min(headroom, perScanned*scanned)
	return int(min(max(wait*100/max(lives, 1), leastPercent), mostPercent))
}

// keepHeadroom sets how often memory is collected by what lives, until ctx ends.
// GOGC and GOMEMLIMIT are obeyed when set: then it does nothing.
func (p *program) keepHeadroom(ctx context.Context) {
	for _, v := range p.environ {
		if strings.HasPrefix(v, "GOGC=") || strings.HasPrefix(v, "GOMEMLIMIT=") {
			return
		}
	}
	percent := mostPercent
	debug.SetGCPercent(percent)
	forgetStart()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
		if now := collectPercent(living()); now != percent {
			percent = now
			debug.SetGCPercent(percent)
		}
	}
}

// living is what GOGC counts from (the heap after the last collection, stacks
// and globals), and how much there is now that may hold pointers.
func living() (lives, scanned uint64) {
	found := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/heap:bytes"}, {Name: "/gc/scan/total:bytes"}}
	metrics.Read(found)
	heap, scannedHeap, scanned := found[0].Value.Uint64(), found[1].Value.Uint64(), found[2].Value.Uint64()
	return heap + scanned - scannedHeap, scanned
}

// forgetStart frees what starting took, the migrations' pools above all, which
// go with the second collection. It would count as living.
func forgetStart() {
	runtime.GC()
	debug.FreeOSMemory()
}
