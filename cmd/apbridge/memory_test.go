package main

import (
	"runtime"
	"testing"
)

func TestHeadroomIsBounded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lives, scanned uint64 // MB
		want           int
	}{
		{0, 0, 30}, {4, 8, 400}, {16, 32, 400}, {32, 64, 250}, {64, 64, 125}, {128, 128, 62}, {512, 512, 30}, {4096, 4096, 30},
		{10, 5, 150}, {10, 2, 60}, {100, 1, 30},
	} {
		if got := collectPercent(c.lives<<20, c.scanned<<20); got != c.want {
			t.Errorf("%d MB live, %d with pointers: %d %%, want %d %%", c.lives, c.scanned, got, c.want)
		}
	}
	runtime.GC()
	if lives, scanned := living(); lives == 0 || scanned == 0 {
		t.Errorf("the runtime tells of %d bytes that live, %d with pointers", lives, scanned)
	}
}
