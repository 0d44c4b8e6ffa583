package serve

import (
	"testing"
	"time"
)

func TestSupervisorByTheEnvironment(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		environ []string
		want    supervisor
	}{
		{nil, supervisor{}},
		{[]string{"NOTIFY_SOCKET=@a"}, supervisor{socket: "@a"}},
		{[]string{"NOTIFY_SOCKET=/n", "WATCHDOG_USEC=3000000"}, supervisor{"/n", 1500 * time.Millisecond}},
		{[]string{"NOTIFY_SOCKET=/n", "WATCHDOG_USEC=3000000", "WATCHDOG_PID=1"}, supervisor{socket: "/n"}},
		{[]string{"NOTIFY_SOCKET=/n", "WATCHDOG_USEC=often"}, supervisor{socket: "/n"}},
	} {
		if got := newSupervisor(tt.environ); got != tt.want {
			t.Errorf("%v: %+v", tt.environ, got)
		}
	}
	supervisor{socket: "/nonexistent/socket"}.ready() // is no failure
}
