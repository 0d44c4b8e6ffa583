package proxy

import (
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// D5: what net/http says at every attempt is logged once in a while, and all else
// each time.
func TestD5NoFloodOfComplaints(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zapcore.DebugLevel)
		c := &complaints{log: zap.New(core)}
		for range 200 * 25 { // 25 seconds, at the shortest pause of net/http
			_, _ = c.Write([]byte("http: Accept error: accept tcp 127.0.0.1:80: accept4: too many open files; retrying in 5ms\n"))
			time.Sleep(5 * time.Millisecond)
		}
		if n := len(logs.TakeAll()); n != 3 {
			t.Errorf("%d lines in 25 seconds, want 3", n)
		}
		for range 2 {
			_, _ = c.Write([]byte("http: panic serving 127.0.0.1:80: ouch\n"))
		}
		if n := len(logs.TakeAll()); n != 2 {
			t.Errorf("%d lines of something else, want 2", n)
		}
	})
}

func TestD5ConnectionsThatFitTheFiles(t *testing.T) {
	t.Parallel()
	for files, want := range map[int64]int64{0: 0, 10: 1, 128: 64, 256: 192, 1024: 768, 20_000: 15_000} {
		if got := mostConnections(files); got != want {
			t.Errorf("%d files: %d connections, want %d", files, got, want)
		}
	}
}
