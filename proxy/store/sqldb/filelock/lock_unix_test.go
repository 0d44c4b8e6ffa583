//go:build linux || darwin

package filelock_test

import (
	"syscall"
	"testing"
)

// A child process holds all descriptors until it executes its program.
func TestLockEndsWhileAProcessIsBeingStarted(t *testing.T) {
	t.Parallel()
	path := file(t)
	first := take(t, path)
	if err := first.Hold(); err != nil {
		t.Skipf("no lock of a whole file here: %v", err)
	}
	for _, f := range first.Descriptors() {
		its, err := syscall.Dup(int(f.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		defer syscall.Close(its)
	}
	first.Close()
	if err := take(t, path).Hold(); err != nil {
		t.Errorf("after Close: %v", err)
	}
}
