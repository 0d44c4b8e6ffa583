package rig

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// WithoutRequests removes the access log's lines from a log.
func WithoutRequests(log string) string {
	var kept strings.Builder
	for line := range strings.Lines(log) {
		if !strings.Contains(line, `"msg":"request"`) {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// Console collects the output of a program and waits for patterns in it.
type Console struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{}
}

// NewConsole returns an empty console.
func NewConsole() *Console { return &Console{changed: make(chan struct{}, 1)} }

func (c *Console) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text.Write(b)
	select {
	case c.changed <- struct{}{}:
	default:
	}
	return len(b), nil
}

func (c *Console) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}

// Await waits until pattern is printed and returns its first submatch.
func (c *Console) Await(t *testing.T, pattern string) string {
	t.Helper()
	want, late := regexp.MustCompile(pattern), time.After(time.Minute)
	for {
		if m := want.FindStringSubmatch(c.String()); m != nil {
			return m[1]
		}
		select {
		case <-c.changed:
		case <-late:
			t.Fatalf("%s was not printed, but:\n%s", pattern, c)
		}
	}
}
