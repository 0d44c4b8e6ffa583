package inspect

import (
	"context"
	"net/http"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/sse"
	"github.com/apbridge/apbridge/mapping/pause"
)

const (
	pollEvery = time.Second
	// pollShare limits polling to about 1/pollShare of the time, so a slow search through all runs is repeated less
	// often.
	pollShare = 20
)

// follow streams the event "changed" each time poll returns another mark, which is the event's id. A client that
// reconnects with the last mark that it received is only notified of later changes. The stream ends with the request,
// or with the event "gone" if poll fails, for example after the deletion of a run.
func (s *server) follow(w http.ResponseWriter, r *http.Request, poll func(context.Context) (mark string, err error)) error {
	done, err := adapter.OpenStream(r.Context())
	if err != nil {
		return err
	}
	defer done()
	defer adapter.MarkLongLived(r.Context())()
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	seen := r.Header.Get("Last-Event-ID")
	began := time.Now()
	mark, err := poll(ctx)
	if err != nil {
		return err
	}
	if r.Method == http.MethodHead {
		sse.SetHeader(w.Header()) // a HEAD request has no body to wait for
		return nil
	}
	stream := sse.NewStream(w, s.Heartbeat, stop)
	defer stream.Close()
	for {
		if mark != seen && stream.Write(sse.AppendFrame(nil, "changed", []byte(`{}`), mark)) != nil {
			return nil // the client has gone
		}
		seen = mark
		stream.Idle()
		if pause.For(ctx, max(pollEvery, pollShare*time.Since(began))) != nil {
			return nil
		}
		began = time.Now()
		if mark, err = poll(ctx); err != nil {
			_ = stream.Write(sse.AppendFrame(nil, "gone", []byte(`{}`), "")) // the client may be gone, too
			_ = stream.Flush()
			return nil
		}
	}
}
