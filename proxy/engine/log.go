package engine

import (
	"time"

	"github.com/apbridge/apbridge/mapping"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

func errField(err error) zap.Field     { return zap.Error(err) }
func runField(id string) zap.Field     { return zap.String("run", id) }
func agentField(name string) zap.Field { return zap.String("agent", name) }

// logRun writes a line about a run: which it is, who asked for it, and more. Nothing of what was said is ever in a log.
// The fields are made only for a line that is written.
func (t *reports) logRun(level zapcore.Level, said string, r *mapping.Run, more ...zap.Field) {
	line := t.zap.Check(level, said)
	if line == nil {
		return
	}
	who := [...]zap.Field{
		runField(r.ID), zap.String("thread", r.ThreadID), zap.String("task", r.TaskID), agentField(r.Agent),
		zap.String("key", r.Owner), zap.String("request_id", r.Options.RequestID), zap.String("trace_id", traceOf(r).ID()),
	}
	line.Write(append(append(make([]zap.Field, 0, len(who)+len(more)), who[:]...), more...)...)
}

// logLaunch says that this process executes the run from now on.
func (a account) logLaunch() {
	switch {
	case a.x.next != nil: // the end of its first step said that it is parked
		a.x.works.reports.logRun(zap.DebugLevel, "a parked run goes on", &a.x.Run)
	case a.x.Taken:
		a.x.works.reports.logRun(zap.InfoLevel, "a run is taken up that another process, or this one before a restart, has left", &a.x.Run, zap.String("from", a.x.From), zap.Duration("began_before", a.x.Running))
	default:
		a.x.works.reports.logRun(zap.InfoLevel, "a run begins", &a.x.Run)
	}
}

// logDeparture says how the run has left this process.
func (a account) logDeparture(status mapping.RunStatus) {
	steps, took := zap.Int("steps", a.x.results), zap.Duration("took", a.x.Running+time.Since(a.x.began))
	switch status {
	case statusParked:
		a.x.works.reports.logRun(zap.InfoLevel, "a run is parked until its client asks for the next step", &a.x.Run, steps, took)
	case statusHandedOver:
		a.x.works.reports.logRun(zap.InfoLevel, "a run is handed over: it has not ended, and is taken up by another process or at the next start", &a.x.Run, steps, took)
	default:
		a.x.works.reports.logEnd(&a.x.Run, &a.x.outcome, steps, took)
	}
}

// logEnd says how a run has ended; one that failed is a warning.
func (t *reports) logEnd(r *mapping.Run, out *mapping.Outcome, more ...zap.Field) {
	level := zap.InfoLevel
	if out.Status == mapping.RunError || out.Status == mapping.RunTimeout {
		level = zap.WarnLevel
	}
	t.logRun(level, "a run has ended", r, append([]zap.Field{zap.String("status", string(out.Status)), zap.String("code", codeOf(*out))}, more...)...)
}

// codeOf is the code of the failure that a run has ended with; "" where it did not fail.
func codeOf(out mapping.Outcome) string {
	if out.Fault == nil {
		return ""
	}
	return out.Fault.Code
}
