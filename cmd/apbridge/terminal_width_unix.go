//go:build unix

package main

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// widthOf is the number of columns of a terminal; 0 where it does not say.
func widthOf(w io.Writer) int {
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
