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
func (d *departure) compareFiles(ctx context.Context) {
	if d.x.rec == nil || d.x.rec.link.Remote == "" || removes(context.Cause(ctx)) {
		return
	}
	ctx, stop := context.WithTimeout(d.x.works.background.of(&d.x.Run), compareTimeout)
	defer stop()
	update, changed, err := d.comparedFiles(ctx)
	if err == nil && changed {
		err = d.x.rec.add(&update)
	}
	if err != nil {
		d.x.works.reports.zap.Warn("the agent's files could not be compared at the end of a run", errField(err),
			zap.String("run", d.x.Run.ID), agentField(d.x.agent.Name))
	}
}

func (d *departure) comparedFiles(ctx context.Context) (update mapping.Event, changed bool, err error) {
	backend, _, err := d.x.agent.Backend(ctx)
	c, ok := backend.(adapter.FileComparer)
	if err != nil || !ok {
		return update, false, err
	}
	past, err := d.x.works.sources.tasks.stepsDone(ctx, d.x.Run.TaskID)
	if err != nil {
		return update, false, err
	}
	uploaded := max(past.given, d.x.rec.uploaded)
	files := d.x.runFiles()
	files.goesOn, files.given = true, uploaded
	return c.CompareFiles(ctx, &adapter.Assignment{
		Run: &d.x.Run, TaskID: d.x.Run.TaskID, Link: d.x.rec.link, Uploaded: uploaded, Files: files,
	})
}

// acquireIn takes a slot within most; false: none was free.
func (a *Agent) acquireIn(ctx context.Context, most time.Duration) bool {
	ctx, stop := context.WithTimeout(ctx, most)
	defer stop()
	return a.slots.acquire(ctx) == nil
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
