package rig

import (
	"fmt"
	"io"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// OpenTerminal opens a terminal. shows closes it and returns its output.
func OpenTerminal(t *testing.T) (tty *os.File, shows func() string) {
	t.Helper()
	return OpenTyped(t, "")
}

// OpenTyped is OpenTerminal for a terminal with typed input.
func OpenTyped(t *testing.T, typed string) (tty *os.File, shows func() string) {
	t.Helper()
	tty, screen := OpenPair(t)
	if _, err := io.WriteString(screen, typed); err != nil {
		t.Fatal(err)
	}
	text := make(chan string, 1)
	go func() {
		b, _ := io.ReadAll(screen) // ends with EIO after the last writer
		text <- string(b)
	}()
	return tty, func() string {
		tty.Close()
		defer screen.Close()
		return <-text
	}
}

// OpenPair opens a terminal and its other end, for screen and keyboard.
func OpenPair(t *testing.T) (tty, screen *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminal available: %v", err)
	}
	n, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return tty, screen
}
