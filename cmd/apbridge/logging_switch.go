package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// switchedLog is a log whose level and format can be changed while it is written. Nothing is sampled
// away: a log that leaves out what is frequent leaves out what went wrong. Wherever it goes, it is
// looked at on a terminal one day, so that it is plain text in any case. Safe for concurrent use.
type switchedLog struct {
	level      zap.AtomicLevel
	format     atomic.Pointer[string]
	onTerminal bool
	out        zapcore.WriteSyncer
}

func newSwitchedLog(w io.Writer, c config.Log) (*switchedLog, error) {
	s := &switchedLog{level: zap.NewAtomicLevel(), out: zapcore.Lock(zapcore.AddSync(plainText{w}))}
	_, s.onTerminal = w.(terminal)
	if _, err := encoderOf(c.Format, s.onTerminal); err != nil {
		return nil, err
	}
	if !slices.Contains(logLevels, c.Level) {
		return nil, misuse(fmt.Sprintf("flag --log-level: %q is not one of debug, info, warn, error", c.Level))
	}
	return s, s.set(c)
}

// set takes what newSwitchedLog has checked.
func (s *switchedLog) set(c config.Log) error {
	s.format.Store(&c.Format)
	return s.level.UnmarshalText([]byte(c.Level))
}

func (s *switchedLog) is() config.Log {
	return config.Log{Level: s.level.String(), Format: *s.format.Load()}
}

func (s *switchedLog) logger() *zap.Logger {
	core := &switchedCore{s: s, formats: map[string]zapcore.Core{}}
	for _, format := range logFormats {
		encoder, err := encoderOf(format, s.onTerminal)
		must(err)
		core.formats[format] = zapcore.NewCore(encoder, s.out, s.level)
	}
	return zap.New(core)
}

// switchedCore has a core for each format, and writes by the one that is set.
type switchedCore struct {
	s       *switchedLog
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

// mostOfLog bounds the body of a change, in bytes.
const mostOfLog = 4 << 10

// wireLog is the log's setting as GET shows it and PUT takes it; a member that PUT leaves out stays.
type wireLog struct {
	Level  string `json:"level"`
	Format string `json:"format"`
}

// ServeHTTP answers GET with what is set, and PUT by setting it until the process ends.
func (s *switchedLog) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	set := wireLog(s.is())
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodPut:
		if err := s.put(w, r, &set); err != nil {
			e := mapping.Classify(err)
			answerLog(w, adapter.Status(e.Class), map[string]string{"code": e.Code, "message": e.Message})
			return
		}
	default:
		w.Header().Set("Allow", "GET, HEAD, PUT")
		answerLog(w, http.StatusMethodNotAllowed, map[string]string{"code": "method_not_allowed", "message": "This path takes GET and PUT."})
		return
	}
	answerLog(w, http.StatusOK, set)
}

func (s *switchedLog) put(w http.ResponseWriter, r *http.Request, set *wireLog) error {
	in := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostOfLog))
	in.DisallowUnknownFields()
	if err := in.Decode(set); err != nil {
		return mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, `The body must be {"level": …, "format": …}, or one of the two.`)
	}
	for _, x := range []struct {
		name, value string
		allowed     []string
	}{{"level", set.Level, logLevels}, {"format", set.Format, logFormats}} {
		if !slices.Contains(x.allowed, x.value) {
			return mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "%s cannot be %q; choose one of %s.", x.name, x.value, strings.Join(x.allowed, ", "))
		}
	}
	return s.set(config.Log(*set))
}

func answerLog(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}
