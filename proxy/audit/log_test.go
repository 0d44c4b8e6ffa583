package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"go.uber.org/zap"
)

// disk is a file on a disk that may be full.
type disk struct {
	mu   sync.Mutex
	full bool
	text bytes.Buffer
}

func (d *disk) Write(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.full {
		n, _ := d.text.Write(b[:min(3, len(b)-1)])
		return n, errors.New("no space left on device")
	}
	return d.text.Write(b)
}

func (d *disk) Close() error { return nil }

func (d *disk) set(full bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.full = full
}

func (d *disk) lines() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Split(strings.TrimSuffix(d.text.String(), "\n"), "\n")
}

type count struct {
	mu            sync.Mutex
	written, lost int
}

func (c *count) Audited()   { c.mu.Lock(); c.written++; c.mu.Unlock() }
func (c *count) AuditLost() { c.mu.Lock(); c.lost++; c.mu.Unlock() }

// TestAuditOnAFullDisk checks that requests must be refused and lines wait while the disk is full. Once there is space,
// the lines are complete and in order. Lines that do not fit into the queue are counted.
func TestAuditOnAFullDisk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, c := &disk{full: true}, &count{}
		l := newLog(config.Audit{Reads: true}, d, c, zap.NewNop())
		for range waiting + 1 { // one is with the writer
			l.Write(Entry{Operation: mapping.Created, Kind: "run"})
			synctest.Wait()
		}
		if err := l.Ready(); mapping.Classify(err).Class != mapping.Unavailable {
			t.Fatalf("it is ready: %v", err)
		}
		began := time.Now()
		l.Write(Entry{Operation: mapping.Deleted, Kind: "run"})
		if c.lost != 1 || time.Since(began) != patience {
			t.Errorf("%d lost after %s", c.lost, time.Since(began))
		}
		d.set(false)
		time.Sleep(2 * retry)
		synctest.Wait()
		if err := l.Ready(); err != nil {
			t.Errorf("it is not ready: %v", err)
		}
		if list := d.lines(); len(list) != waiting+1 || list[0] != list[waiting] {
			t.Errorf("%d lines, the first is %q", len(list), list[0])
		}
		if err := l.Close(); err != nil || c.written != waiting+1 {
			t.Errorf("%d written, %v", c.written, err)
		}
	})
}

// TestCloseWritesQueuedAuditLines checks that lines accepted before Close are written.
func TestCloseWritesQueuedAuditLines(t *testing.T) {
	t.Parallel()
	d, c := &disk{}, &count{}
	l := newLog(config.Audit{}, d, c, zap.NewNop())
	for range 1000 {
		l.Write(Entry{Operation: mapping.Created})
		l.Write(Entry{Operation: mapping.Read})
	}
	if err := errors.Join(l.Close(), l.Close()); err != nil || len(d.lines()) != 1000 {
		t.Errorf("%d lines, %v", len(d.lines()), err)
	}
}

// TestNoAudit checks that there is no log without a file, and that a failure to create the file is an error.
func TestNoAudit(t *testing.T) {
	t.Parallel()
	l, err := Open(config.Audit{}, nil, nil)
	if l.Write(Entry{Operation: mapping.Created}); l != nil || err != nil || l.Ready() != nil || l.Close() != nil {
		t.Errorf("%v, %v", l, err)
	}
	if _, err := Open(config.Audit{File: t.TempDir() + "/none/audit.log"}, nil, nil); err == nil || !strings.Contains(err.Error(), "audit.file") {
		t.Errorf("%v", err)
	}
}

// A line may be viewed on a terminal, so it contains no control characters for it, and keeps its meaning.
func TestAuditLinesAreVisible(t *testing.T) {
	t.Parallel()
	d := &disk{}
	l := newLog(config.Audit{Reads: true}, d, &count{}, zap.NewNop())
	const id = "a\u009b2J\x7f\u0080\u202e\u2028\x1b[2J\nb"
	l.Write(Entry{Operation: mapping.Created, Kind: "run", Key: id, Tenant: id, RequestID: id, Objects: []mapping.Object{{Kind: "item", ID: id}}})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for _, line := range d.lines() {
		if strings.ContainsFunc(line, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }) {
			t.Errorf("%q", line)
		}
		var e Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Key != id || e.Objects[0].ID != id {
			t.Errorf("%q is read as %+v, %v", line, e, err)
		}
	}
}
