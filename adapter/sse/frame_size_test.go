// The race detector allocates too.
//go:build !race

package sse

import "testing"

// Frames are kept as long as a client may read them again, so they must not waste memory.
func TestAFrameIsWrittenInOnePiece(t *testing.T) {
	data := make([]byte, 300)
	if n := testing.AllocsPerRun(100, func() { AppendFrame(nil, "updates", data, "1234-0") }); n != 1 {
		t.Errorf("a frame takes %g allocations, want 1", n)
	}
	if f := AppendFrame(nil, "updates", data, "1234-0"); cap(f)-len(f) > len(f)/8 {
		t.Errorf("a frame of %d bytes has a capacity of %d", len(f), cap(f))
	}
}
