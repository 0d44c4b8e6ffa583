package serve

import (
	"os"
	"os/signal"
	"syscall"
)

// Hangups handles SIGHUP, which ends other commands. It has two meanings: an operator requests a reload, or the
// terminal of the process was closed. In the second case it calls stop, since nothing else could end the process. It
// does not if the process should outlive the terminal, as with nohup.
func Hangups(stop func()) <-chan os.Signal {
	outlives := signal.Ignored(syscall.SIGHUP) || !hasTerminal()
	taken, passed := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(taken, syscall.SIGHUP)
	go func() {
		for s := range taken {
			if !outlives && !hasTerminal() {
				stop()
				return
			}
			select {
			case passed <- s:
			default: // one pending reload is enough
			}
		}
	}()
	return passed
}

// hasTerminal reports whether the process has a controlling terminal.
func hasTerminal() bool {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	_ = f.Close()
	return true
}
