//go:build linux

package bench

import (
	"io"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"golang.org/x/sys/unix"
)

// A terminal's own width wins over the environment's.
func TestColumns(t *testing.T) {
	t.Parallel()
	tty, screen := rig.OpenTerminal(t)
	defer screen()
	if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 20, Col: 33}); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		to      io.Writer
		environ []string
		want    int
	}{{tty, nil, 33}, {tty, []string{"COLUMNS=120"}, 33}, {io.Discard, []string{"COLUMNS=120"}, 120}, {io.Discard, []string{"COLUMNS=x"}, 80}, {io.Discard, []string{"COLUMNS=3"}, 80}} {
		if got := columns(x.to, x.environ); got != x.want {
			t.Errorf("%v: %d, want %d", x.environ, got, x.want)
		}
	}
}
