package console

import (
	"fmt"
	"io"
	"slices"
	"sync/atomic"

	"github.com/apbridge/apbridge/config"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// Log is a log whose level and format can be changed at runtime. It does not sample, because frequent lines may be the
// important ones. It escapes control characters, since any log may be viewed on a terminal. It is safe for concurrent
// use.
type Log struct {
	level      zap.AtomicLevel
	format     atomic.Pointer[string]
	onTerminal bool
	out        zapcore.WriteSyncer
}

// NewLog returns a log that writes to w. An unknown level or format is a Misuse.
func NewLog(w io.Writer, c config.Log) (*Log, error) {
	s := &Log{level: zap.NewAtomicLevel(), out: zapcore.Lock(zapcore.AddSync(plainText{w}))}
	_, s.onTerminal = w.(terminal)
	if _, err := encoderOf(c.Format, s.onTerminal); err != nil {
		return nil, err
	}
	if !slices.Contains(LogLevels, c.Level) {
		return nil, Misuse(fmt.Sprintf("flag --log-level: %q is not one of debug, info, warn, error", c.Level))
	}
	return s, s.Set(c)
}

// Set changes level and format from the next line on.
func (s *Log) Set(c config.Log) error {
	s.format.Store(&c.Format)
	return s.level.UnmarshalText([]byte(c.Level))
}

// Setting returns the current level and format.
func (s *Log) Setting() config.Log {
	return config.Log{Level: s.level.String(), Format: *s.format.Load()}
}

// Logger returns a logger that uses the setting at the time of each line.
func (s *Log) Logger() *zap.Logger {
	core := &switchedCore{s: s, formats: map[string]zapcore.Core{}}
	for _, format := range LogFormats {
		encoder, err := encoderOf(format, s.onTerminal)
		Must(err)
		core.formats[format] = zapcore.NewCore(encoder, s.out, s.level)
	}
	return zap.New(core)
}

// switchedCore has a core for each format, and uses the selected one.
type switchedCore struct {
	s       *Log
	formats map[string]zapcore.Core
}

func (c *switchedCore) now() zapcore.Core { return c.formats[*c.s.format.Load()] }

func (c *switchedCore) Enabled(l zapcore.Level) bool { return c.s.level.Enabled(l) }

func (c *switchedCore) With(fields []zapcore.Field) zapcore.Core {
	with := &switchedCore{s: c.s, formats: map[string]zapcore.Core{}}
	for format, core := range c.formats {
		with.formats[format] = core.With(fields)
	}
	return with
}

func (c *switchedCore) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return ce.AddCore(e, c)
	}
	return ce
}

func (c *switchedCore) Write(e zapcore.Entry, fields []zapcore.Field) error {
	return c.now().Write(e, fields)
}

func (c *switchedCore) Sync() error { return c.now().Sync() }
