package engine

import (
	"context"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
)

// endOf is what the store does together with the end event.
func (r *recorder) endOf(out mapping.Outcome) *store.End {
	end := &store.End{Outcome: out, Thread: out.Thread()}
	if r.x.run.Options.DeleteAfter && !out.Parked {
		end.Expire = r.x.now().Add(deleteAfter)
	}
	if url := r.x.run.Options.Webhook; url != "" && !out.Parked {
		end.Webhook = r.webhook(url, out)
	}
	return end
}

func (r *recorder) webhook(url string, out mapping.Outcome) *store.Webhook {
	if r.x.e.hook == nil {
		return nil
	}
	run := r.x.run
	run.Status, run.Fault, run.EndedAt = out.Status, out.Fault, r.x.now()
	body, err := r.x.e.hook(run, out, r.fold.JSON())
	if err != nil {
		r.x.e.zap.Error("a webhook body could not be written", errField(err), runField(run.ID))
		return nil
	}
	return &store.Webhook{URL: url, Body: body}
}

// distance is how many bytes of diffs lie between the run's base and its
// snapshot.
func (e *Engine) distance(x *execution) int {
	ctx, stop := context.WithTimeout(e.scope(e.root, x.run), 5*time.Second)
	defer stop()
	s, err := e.st.StateAt(ctx, x.run.ThreadID, x.run.Base)
	if err != nil {
		return 0
	}
	return s.DiffBytes
}
