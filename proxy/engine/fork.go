package engine

import (
	"context"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// forkOf is the run's base as a point of the upstream thread that is linked now; nil where it is none. Streams do not
// tell the ids of checkpoints, so that one of the middle of a run is known by the upstream run that the log names
// before it.
func (x assignment) forkOf(ctx context.Context, linked string) (*adapter.Fork, error) {
	c, err := x.works.sources.states.Checkpoint(ctx, x.Run.ThreadID, x.Run.Base)
	switch {
	case err != nil:
		return nil, err
	case c.Remote != "" && c.RemoteThread == linked:
		return &adapter.Fork{Checkpoint: c.Remote}, nil
	case c.Remote != "" || c.RunID == "":
		return nil, nil
	}
	l, err := x.linkBefore(ctx, c)
	if err != nil || l.Remote != linked || l.RemoteRun == "" {
		return nil, err
	}
	return &adapter.Fork{Run: l.RemoteRun, Step: c.Step}, nil
}

// linkBefore is what the checkpoint's run had last logged of what the agent calls it.
func (x assignment) linkBefore(ctx context.Context, c mapping.Checkpoint) (l mapping.Link, err error) {
	for after := int64(0); ; {
		evs, err := x.works.events.List(ctx, x.Run.ThreadID, c.RunID, after, 512)
		if mapping.Classify(err).Class == mapping.NotFound { // of a thread that this one is a copy of
			return l, nil
		}
		if err != nil || len(evs) == 0 {
			return l, err
		}
		for _, ev := range evs {
			if after = ev.Seq; after > c.Seq {
				return l, nil
			}
			if ev.Head.Link != nil {
				l = *ev.Head.Link
			}
		}
	}
}
