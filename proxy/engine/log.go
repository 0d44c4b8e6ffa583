package engine

import (
	"time"

	"github.com/apbridge/apbridge/mapping"
	"go.uber.org/zap"
)

func errField(err error) zap.Field     { return zap.Error(err) }
func runField(id string) zap.Field     { return zap.String("run", id) }
func agentField(name string) zap.Field { return zap.String("agent", name) }

// whoFields say which run it is, and who asked for it. Nothing of what was said is ever in a log.
func whoFields(r mapping.Run, more ...zap.Field) []zap.Field {
	return append([]zap.Field{
		runField(r.ID), zap.String("thread", r.ThreadID), zap.String("task", r.TaskID), agentField(r.Agent),
		zap.String("key", r.Owner), zap.String("request_id", r.Options.RequestID),
	}, more...)
}

// logBegin says that this process executes the run from now on.
func (x *execution) logBegin() {
	switch {
	case x.next != nil: // the end of its first step said that it is parked
		x.e.zap.Debug("a parked run goes on", whoFields(x.run)...)
	case x.taken:
		x.e.zap.Info("a run is taken up that another process, or this one before a restart, has left", whoFields(x.run, zap.Duration("began_before", x.before))...)
	default:
		x.e.zap.Info("a run begins", whoFields(x.run)...)
	}
}

// logLeave says how the run has left this process.
func (x *execution) logLeave(status mapping.RunStatus) {
	more := []zap.Field{zap.Int("steps", x.results), zap.Duration("took", x.before+time.Since(x.began))}
	switch status {
	case statusParked:
		x.e.zap.Info("a run is parked until its client asks for the next step", whoFields(x.run, more...)...)
	case statusHandedOver:
		x.e.zap.Info("a run is handed over: it has not ended, and is taken up by another process or at the next start", whoFields(x.run, more...)...)
	default:
		x.e.logEnd(x.run, x.outcome, more...)
	}
}

// logEnd says how a run has ended; one that failed is a warning.
func (e *Engine) logEnd(r mapping.Run, out mapping.Outcome, more ...zap.Field) {
	write := e.zap.Info
	if out.Status == mapping.RunError || out.Status == mapping.RunTimeout {
		write = e.zap.Warn
	}
	write("a run has ended", whoFields(r, append([]zap.Field{zap.String("status", string(out.Status)), zap.String("code", codeOf(out))}, more...)...)...)
}

// codeOf is the code of the failure that a run has ended with; "" where it did not fail.
func codeOf(out mapping.Outcome) string {
	if out.Fault == nil {
		return ""
	}
	return out.Fault.Code
}
