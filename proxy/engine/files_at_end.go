package engine

import (
	"context"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"go.uber.org/zap"
)

// compareTimeout bounds how long the end of a run waits for the agent's files. An agent that the run timed out on, or
// that works on one request at a time, may not answer at all, and a cancellation waits for the end.
const compareTimeout = 3 * time.Second

// compareFiles takes over the files that an agent has written without telling it in a step, for a run that failed, was
// cancelled or timed out. They are logged with the end, which they do not change. ctx is the run's; a shutdown ends the
// comparison at once.
func (x *execution) compareFiles(ctx context.Context) {
	if x.rec == nil || x.rec.link.Remote == "" || removes(context.Cause(ctx)) {
		return
	}
	ctx, stop := context.WithTimeout(x.works.background.of(&x.Run), compareTimeout)
	defer stop()
	update, changed, err := x.comparedFiles(ctx)
	if err == nil && changed {
		err = x.rec.add(&update)
	}
	if err != nil {
		x.works.reports.zap.Warn("the agent's files could not be compared at the end of a run", errField(err),
			zap.String("run", x.Run.ID), agentField(x.agent.Name))
	}
}

func (x *execution) comparedFiles(ctx context.Context) (update mapping.Event, changed bool, err error) {
	backend, _, err := x.agent.Backend(ctx)
	c, ok := backend.(adapter.FileComparer)
	if err != nil || !ok {
		return update, false, err
	}
	past, err := x.stepsDone(ctx)
	if err != nil {
		return update, false, err
	}
	uploaded := max(past.given, x.rec.uploaded)
	files := &runFiles{x: x, limit: int64(x.works.settings.Config().Limits.Artifact), goesOn: true, given: uploaded}
	return c.CompareFiles(ctx, &adapter.Assignment{
		Run: &x.Run, TaskID: x.Run.TaskID, Link: x.rec.link, Uploaded: uploaded, Files: files,
	})
}

// acquireIn takes a slot within most; false: none was free.
func (a *Agent) acquireIn(ctx context.Context, most time.Duration) bool {
	ctx, stop := context.WithTimeout(ctx, most)
	defer stop()
	return a.slots.Acquire(ctx) == nil
}

// comparesFiles reports whether the agent is known to be one whose files are compared.
func (a *Agent) comparesFiles() bool {
	f := a.found.Load()
	if f == nil {
		return false
	}
	_, ok := f.backend.(adapter.FileComparer)
	return ok
}
