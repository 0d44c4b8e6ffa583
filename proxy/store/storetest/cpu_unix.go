//go:build unix

package storetest

import (
	"syscall"
	"testing"
	"time"
)

// CPU reports the processor time per operation of a benchmark. On a shared machine it is more reliable than wall-clock
// time.
func CPU(b *testing.B) func() {
	before := spent()
	return func() { b.ReportMetric(float64((spent()-before).Microseconds())/float64(b.N), "cpu-µs/op") }
}

func spent() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
