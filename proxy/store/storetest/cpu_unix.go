//go:build unix

package storetest

import (
	"syscall"
	"testing"
	"time"
)

// CPU reports the processor time a benchmark spent per operation: on a shared machine it says more than the clock on
// the wall.
func CPU(b *testing.B) func() {
	before := spent()
	return func() { b.ReportMetric(float64((spent()-before).Microseconds())/float64(b.N), "cpu-µs/op") }
}

func spent() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
