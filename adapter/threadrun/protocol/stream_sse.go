package protocol

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/apbridge/apbridge/adapter/sse"
	"go.uber.org/zap"
)

// ServeEvents answers a request for a stream of events (CDDL, EventStreamRequest). It goes on
// across runs until the client leaves: SDKs open one that ends again and again. An error says
// that nothing was sent.
func (s *Server) ServeEvents(w http.ResponseWriter, r *http.Request, thread string, spelling Spelling, raw json.RawMessage) error {
	if raw == nil {
		return invalid("The request's body must be an object with a list of channels.")
	}
	p, err := parse(raw, s.Depth)
	if err != nil {
		return err
	}
	f, err := readFilter(p)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	out := sse.NewStream(w, s.Beat, stop)
	defer out.Close()
	err = s.follow(ctx, thread, out.Idle, func(ev *event, at place) error {
		if !f.wants(ev, at) {
			return nil
		}
		return out.Write(sse.AppendFrame(nil, ev.method, ev.encode(at, spelling), at.id()))
	})
	if err == nil || ctx.Err() != nil || out.Failed() || isNotFound(err) {
		return nil
	}
	s.Log.Warn("stream was cut off", zap.String("thread", thread), zap.Error(err))
	panic(http.ErrAbortHandler)
}
