package serve

import (
	"context"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// supervisor is a service manager that expects notifications from this process, such as systemd (sd_notify(3),
// sd_watchdog_enabled(3)). Without a supervisor, nothing is sent.
type supervisor struct {
	socket string        // "" for none
	every  time.Duration // interval of watchdog notifications; 0 for none
}

func newSupervisor(environ []string) (s supervisor) {
	set := map[string]string{}
	for _, e := range environ {
		name, value, _ := strings.Cut(e, "=")
		set[name] = value
	}
	s.socket = set["NOTIFY_SOCKET"]
	within, err := strconv.ParseInt(set["WATCHDOG_USEC"], 10, 64)
	if pid := set["WATCHDOG_PID"]; err == nil && within > 0 && (pid == "" || pid == strconv.Itoa(os.Getpid())) {
		s.every = time.Duration(within) * time.Microsecond / 2
	}
	return s
}

// notify sends the supervisor a state. Errors are ignored, since they are no reason to stop.
func (s supervisor) notify(state ...string) {
	if s.socket == "" {
		return
	}
	c, err := net.Dial("unixgram", s.socket)
	if err != nil {
		return
	}
	defer c.Close()
	_, _ = c.Write([]byte(strings.Join(state, "\n")))
}

func (s supervisor) ready()    { s.notify("READY=1") }
func (s supervisor) stopping() { s.notify("STOPPING=1") }

// reloading notifies the supervisor that a reload has begun. done notifies it of the end, whether successful or not.
func (s supervisor) reloading() (done func()) {
	s.notify("RELOADING=1", "MONOTONIC_USEC="+strconv.FormatInt(monotonic().Microseconds(), 10))
	return s.ready
}

// live sends watchdog notifications until ctx ends.
func (s supervisor) live(ctx context.Context) {
	if s.socket == "" || s.every <= 0 {
		return
	}
	tick := time.NewTicker(s.every)
	defer tick.Stop()
	for {
		s.notify("WATCHDOG=1")
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
