package serve

import (
	"os"
	"os/signal"
	"syscall"
)

// Hangups takes SIGHUP, which ends other commands. It has two meanings: an operator wants the configuration to be read
// again, or the terminal is gone that the process was started from. Then stop is called, since nothing could end it
// there any more; unless the process was to outlive the terminal, as with nohup.
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
			default: // one that was not taken yet stands for this one, too
			}
		}
	}()
	return passed
}

// hasTerminal reports whether the process has a terminal that it is controlled by.
func hasTerminal() bool {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	_ = f.Close()
	return true
}
