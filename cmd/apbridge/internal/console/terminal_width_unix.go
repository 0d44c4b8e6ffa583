//go:build unix

package console

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// WidthOf returns the number of columns of a terminal, or 0 if unknown.
func WidthOf(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}
