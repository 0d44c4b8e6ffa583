package inspect

import (
	"context"
	"net/http"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/sse"
)

// follow streams one event, changed, each time a look at what a page shows has another result: its mark, which is the
// event's id. The page asks for what changed itself, so that it is shown what it may see. A reader that comes back
// with the mark that it saw last hears of what it missed, and of nothing else. The stream ends with the request,
// and when a look fails, as of a run that was deleted: the event gone is its last.
func (i *inspector) follow(w http.ResponseWriter, r *http.Request, look func(context.Context) (mark string, err error)) error {
	done, err := adapter.OpenStream(r.Context())
	if err != nil {
		return err
	}
	defer done()
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	seen := r.Header.Get("Last-Event-ID")
	mark, err := look(ctx)
	if err != nil {
		return err
	}
	s := sse.NewStream(w, i.Heartbeat, stop)
	defer s.Close()
	tick := time.NewTicker(i.look)
	defer tick.Stop()
	for {
		if mark != seen && s.Write(sse.AppendFrame(nil, "changed", []byte(`{}`), mark)) != nil {
			return nil // the client has gone
		}
		seen = mark
		s.Idle()
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if mark, err = look(ctx); err != nil {
			_ = s.Write(sse.AppendFrame(nil, "gone", []byte(`{}`), "")) // the client may be gone, too
			_ = s.Flush()
			return nil
		}
	}
}
