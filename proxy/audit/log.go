package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/pause"
	"github.com/apbridge/apbridge/proxy/logthrottle"
	"go.uber.org/zap"
	"gopkg.in/natefinch/lumberjack.v2"
)

const (
	waiting   = 4096            // maximum number of queued lines
	patience  = 5 * time.Second // for a place in the queue, and for the last lines at the end
	retry     = time.Second     // between two attempts to write a line
	megabytes = 1 << 20
)

// Meter counts lines. proxy/metrics implements it.
type Meter interface {
	Audited()
	AuditLost()
}

// Log writes entries in order, with one goroutine. Safe for concurrent use. A nil *Log writes nothing.
type Log struct {
	reads   bool
	to      io.WriteCloser
	lines   chan []byte
	meter   Meter
	log     *zap.Logger
	failing atomic.Bool
	refused *refusals
	closing context.Context
	close   context.CancelFunc
	done    chan struct{}
	once    sync.Once
}

// Open opens the configured log, or returns nil for none. It creates the file, so that a failure is an error at the
// start.
func Open(cfg config.Audit, m Meter, log *zap.Logger) (*Log, error) {
	if !cfg.On() {
		return nil, nil
	}
	to, err := destination(cfg)
	if err != nil {
		return nil, err
	}
	return newLog(cfg, to, m, log), nil
}

func newLog(cfg config.Audit, to io.WriteCloser, m Meter, log *zap.Logger) *Log {
	l := &Log{reads: cfg.Reads, to: to, lines: make(chan []byte, waiting), meter: m, log: log, done: make(chan struct{}), refused: newRefusals()}
	l.closing, l.close = context.WithCancel(context.Background())
	go l.run()
	return l
}

// output is standard output, which is not closed.
type output struct{ io.Writer }

func (output) Close() error { return nil }

func destination(cfg config.Audit) (io.WriteCloser, error) {
	if cfg.File == config.AuditToOutput {
		return output{os.Stdout}, nil
	}
	f, err := os.OpenFile(cfg.File, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("audit.file: cannot be written to: %w", err)
	}
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("audit.file: %w", err)
	}
	size := math.MaxInt / megabytes / 2
	if cfg.MaxSize > 0 {
		size = max(1, int(cfg.MaxSize/megabytes))
	}
	return &lumberjack.Logger{Filename: cfg.File, MaxSize: size, MaxBackups: cfg.Keep}, nil
}

// Wants reports whether an operation with this verb needs a line.
func (l *Log) Wants(v mapping.Verb) bool { return l != nil && (l.reads || v != mapping.Read) }

// Ready returns an error of class Unavailable while lines cannot be written. Then no operation that needs a line may
// begin.
func (l *Log) Ready() error {
	if l == nil || !l.failing.Load() {
		return nil
	}
	return mapping.Errorf(mapping.Unavailable, "audit_unavailable",
		"The audit log of the bridge cannot be written, and no operation is performed without it (audit.file). See the bridge's own log for the reason.")
}

// Write queues an entry. It waits while the queue is full, and counts the entry as lost if that takes too long.
func (l *Log) Write(e Entry) {
	if !l.Wants(e.Operation) {
		return
	}
	line, err := lineOf(e)
	if err != nil {
		l.lose(e, err)
		return
	}
	select {
	case l.lines <- line:
		return
	default:
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case l.lines <- line:
	case <-l.done:
		l.lose(e, fmt.Errorf("the log is closed"))
	case <-late.C:
		l.lose(e, fmt.Errorf("%d lines are waiting to be written", waiting))
	}
}

// lineOf returns the line of an entry, safe for terminals.
func lineOf(e Entry) ([]byte, error) {
	if e.Objects == nil {
		e.Objects = []mapping.Object{}
	}
	line, err := json.Marshal(e)
	return append(mapping.Visible(line), '\n'), err
}

// lose writes a lost entry to the bridge's own log.
func (l *Log) lose(e Entry, why error) {
	l.meter.AuditLost()
	l.log.Error("audit log line lost", zap.Any("line", e), zap.Error(why))
}

func (l *Log) run() {
	defer close(l.done)
	var said logthrottle.Limiter
	for {
		select {
		case line := <-l.lines:
			l.write(line, &said)
		case <-l.closing.Done():
			if len(l.lines) == 0 {
				return
			}
		}
	}
}

// write retries until the line is written, or until the log is closed and the disk still fails. It continues a
// partially written line.
func (l *Log) write(line []byte, said *logthrottle.Limiter) {
	for {
		n, err := l.to.Write(line)
		if err == nil {
			l.failing.Store(false)
			said.Reset()
			l.meter.Audited()
			return
		}
		line = line[n:]
		l.failing.Store(true)
		if said.Allow() {
			l.log.Error("audit log not writable; refusing requests until it is", zap.Error(err), said.Suppressed())
		}
		if pause.For(l.closing, retry) != nil {
			l.meter.AuditLost()
			l.log.Error("audit log line lost", zap.ByteString("rest", line), zap.Error(err))
			return
		}
	}
}

// Close writes the queued lines and closes the file. It may be called again.
func (l *Log) Close() error {
	if l == nil {
		return nil
	}
	var err error
	l.once.Do(func() {
		l.close()
		<-l.done
		err = l.to.Close()
	})
	return err
}
