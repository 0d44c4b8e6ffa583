package inspect

import (
	"context"
	"net/http"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/sse"
)

// live tells pages that what they show has changed.
type live struct {
	heartbeat time.Duration
	every     time.Duration // between two looks
}

// lookEvery is how old the news of a page may be.
const lookEvery = time.Second

// follow streams one event, changed, each time a look at what a page shows has another result: its mark, which is the
// event's id. The page asks for what changed itself, so that it is shown what it may see. A reader that comes back with
// the mark that it saw last hears of what it missed, and of nothing else. The stream ends with the request, and when a
// look fails, as of a run that was deleted: the event gone is its last.
func (l *live) follow(w http.ResponseWriter, r *http.Request, look func(context.Context) (mark string, err error)) error {
	done, err := adapter.OpenStream(r.Context())
	if err != nil {
		return err
	}
	defer done()
	defer adapter.MarkLongLived(r.Context())()
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	seen := r.Header.Get("Last-Event-ID")
	begun := time.Now()
	mark, err := look(ctx)
	if err != nil {
		return err
	}
	if r.Method == http.MethodHead {
		sse.SetHeader(w.Header()) // without a body there is nothing to wait for
		return nil
	}
	s := sse.NewStream(w, l.heartbeat, stop)
	defer s.Close()
	for {
		if mark != seen && s.Write(sse.AppendFrame(nil, "changed", []byte(`{}`), mark)) != nil {
			return nil // the client has gone
		}
		seen = mark
		s.Idle()
		if !l.rested(ctx, time.Since(begun)) {
			return nil
		}
		begun = time.Now()
		if mark, err = look(ctx); err != nil {
			_ = s.Write(sse.AppendFrame(nil, "gone", []byte(`{}`), "")) // the client may be gone, too
			_ = s.Flush()
			return nil
		}
	}
}

// costly is what part of its time a page may have the bridge look for changes, one in so many.
const costly = 20

// rested waits between two looks, after one that took so long; a search through all runs is repeated less often. It
// reports whether ctx goes on.
func (l *live) rested(ctx context.Context, took time.Duration) bool {
	timer := time.NewTimer(max(l.every, costly*took))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
