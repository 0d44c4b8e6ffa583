//go:build unix

package crash

import (
	"context"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// pastLease is how long a bridge is suspended. By then its lease of 12 s has ended and another bridge has its runs.
const pastLease = 15 * time.Second

func soakSeedOf(t *testing.T) uint64 {
	t.Helper()
	if said := os.Getenv(soakSeed); said != "" {
		n, err := strconv.ParseUint(said, 10, 64)
		if err != nil {
			t.Fatal(soakSeed, err)
		}
		return n
	}
	return uint64(time.Now().UnixNano())
}

// disturb causes one fault after another until ctx ends, with pauses between them. Each round has each kind of fault.
// All bridges and the database work when it returns.
func (s *soak) disturb(ctx context.Context) {
	kinds := []struct {
		name  string
		cause func(context.Context)
	}{
		{"bridge killed", s.killBridge}, {"database crashed", s.crashDatabase}, {"bridge stopped past its lease", s.stopBridge},
		{"connection of the database killed", s.killBackend}, {"bridge restarted", s.restartBridge}, {"database killed", s.killDatabase},
	}
	for ctx.Err() == nil {
		s.random.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
		for _, k := range kinds {
			if !pause(ctx, time.Duration(500+s.random.IntN(2000))*time.Millisecond) {
				break
			}
			k.cause(ctx)
			s.faults[k.name]++
		}
	}
	for _, r := range s.replicas {
		r.ready()
	}
}

// pause reports whether the time passed before ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

func (s *soak) any() *replica { return s.replicas[s.random.IntN(len(s.replicas))] }

func (s *soak) killBridge(ctx context.Context) {
	r := s.any()
	r.kill()
	pause(ctx, time.Duration(s.random.IntN(1500))*time.Millisecond)
	r.start()
	r.ready()
}

func (s *soak) restartBridge(context.Context) {
	r := s.any()
	r.stop()
	r.start()
	r.ready()
}

func (s *soak) stopBridge(ctx context.Context) {
	r := s.any()
	r.signal(syscall.SIGSTOP)
	pause(ctx, pastLease)
	r.signal(syscall.SIGCONT)
}

func (s *soak) crashDatabase(ctx context.Context) {
	s.cluster.Crash()
	pause(ctx, time.Duration(s.random.IntN(1500))*time.Millisecond)
	s.cluster.Start()
}

func (s *soak) killDatabase(context.Context) {
	s.cluster.Kill()
	s.cluster.Start()
}

func (s *soak) killBackend(context.Context) { s.cluster.KillBackend(s.cluster.Backend()) }

// Bounds of an idle bridge (INV7). A bridge that leaks exceeds them within a minute of the soak.
const (
	restGoroutines = 250
	restFiles      = 150
	restBytes      = 400 << 20
)

func (s *soak) measure() {
	s.t.Helper()
	for _, r := range s.replicas {
		for name, most := range map[string]float64{"go_goroutines": restGoroutines, "process_open_fds": restFiles, "process_resident_memory_bytes": restBytes} {
			if got := gauge(s.t, "http://"+r.address, name); got > most {
				s.t.Errorf("INV7: %s of %s is %g, want at most %g", name, r.address, got, most)
			}
		}
	}
}

func gauge(t *testing.T, url, name string) float64 {
	t.Helper()
	res, err := http.Get(url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindSubmatch(text)
	if found == nil {
		t.Fatalf("no %s in\n%s", name, text)
	}
	n, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
