package line

import (
	"context"
	"net"
	"testing"
	"time"
)

// A line is closed if the server reports twice during one wait that it is idle, and at once if the server is away.
func TestGiveUp(t *testing.T) {
	t.Parallel()
	idle, busy := map[uint32]bool{}, map[uint32]bool{7: true}
	for name, c := range map[string]struct {
		looks func(s *Lines, l *line) (closed int)
		want  int
	}{
		"idle once": {func(s *Lines, _ *line) int { return s.Waited(-time.Hour).GiveUp(idle, false) }, 0},
		"idle twice": {func(s *Lines, _ *line) int {
			s.Waited(-time.Hour).GiveUp(idle, false)
			return s.Waited(-time.Hour).GiveUp(idle, false)
		}, 1},
		"busy in between": {func(s *Lines, _ *line) int {
			s.Waited(-time.Hour).GiveUp(idle, false)
			s.Waited(-time.Hour).GiveUp(busy, false)
			return s.Waited(-time.Hour).GiveUp(idle, false)
		}, 0},
		"another wait": {func(s *Lines, l *line) int {
			s.Waited(-time.Hour).GiveUp(idle, false)
			l.since.Add(1)
			return s.Waited(-time.Hour).GiveUp(idle, false)
		}, 0},
		"the server away":       {func(s *Lines, _ *line) int { return s.Waited(-time.Hour).GiveUp(nil, true) }, 1},
		"over in the meantime":  {func(s *Lines, l *line) int { w := s.Waited(-time.Hour); l.since.Store(0); return w.GiveUp(nil, true) }, 0},
		"not waited for":        {func(s *Lines, l *line) int { l.since.Store(0); return s.Waited(-time.Hour).GiveUp(nil, true) }, 0},
		"of an unknown process": {func(s *Lines, l *line) int { l.pid.Store(0); return s.Waited(-time.Hour).GiveUp(nil, true) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, l := waiting(t)
			closed := c.looks(s, l)
			if closed != c.want || len(s.open) != 1-c.want {
				t.Errorf("%d lines closed, %d open", closed, len(s.open))
			}
		})
	}
}

// waiting returns a line to process 7 that is being waited for.
func waiting(t *testing.T) (*Lines, *line) {
	t.Helper()
	here, there := net.Pipe()
	t.Cleanup(func() { here.Close(); there.Close() })
	s := New()
	conn, err := s.Over(func(context.Context, string, string) (net.Conn, error) { return here, nil })(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	l := conn.(*line)
	l.pid.Store(7)
	l.since.Store(s.now() + 1)
	return s, l
}
