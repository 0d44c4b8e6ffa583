package protocol

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/sse"
	"github.com/apbridge/apbridge/mapping"
	"go.uber.org/zap"
)

// ServeEvents handles a request for a stream of events (CDDL, EventStreamRequest). It continues across runs until the
// client disconnects, because SDKs reopen a stream that ends. If it returns an error, it has sent nothing.
func (s *Server) ServeEvents(w http.ResponseWriter, r *http.Request, thread string, spelling Spelling, raw json.RawMessage) error {
	f, err := s.wanted(w.Header(), r, thread, raw)
	if err != nil {
		return err
	}
	ends := staleEnds{s: s, thread: thread}
	if f.since == 0 {
		ends.until, _ = s.lastEntry(r.Context(), thread) // follow will return the same error
	}
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	defer adapter.MarkLongLived(ctx)()
	out := sse.NewStream(w, s.Heartbeat, stop)
	defer out.Close()
	err = s.follow(ctx, thread, f.since, out.Idle, func(ev *event, at position) error {
		if !f.wants(ev, at) {
			return nil
		}
		if stale, err := ends.has(ctx, ev, at); stale || err != nil {
			return err
		}
		return out.Write(sse.AppendFrame(nil, ev.method, ev.encode(at, spelling), ev.id(at)))
	})
	if err == nil || ctx.Err() != nil || out.Failed() || isNotFound(err) {
		return nil
	}
	s.Log.Warn("stream interrupted", zap.String("thread", thread), zap.Error(err))
	panic(http.ErrAbortHandler)
}

// staleEnds identifies ends of runs that a replay must omit because the run had ended before the stream began and a
// newer run exists. SDKs open a stream without a position for a run that they have just started, and treat the first
// end as the end of that run.
type staleEnds struct {
	s      *Server
	thread string
	until  int64 // the newest entry when the stream began; 0 for a stream that begins after a position
	newest string
}

func (e *staleEnds) has(ctx context.Context, ev *event, at position) (bool, error) {
	if !ev.ends || at.seq > e.until {
		return false, nil
	}
	if e.newest == "" || e.newest == ev.run {
		for run, err := range e.s.Service.ListRuns(ctx, mapping.RunQuery{ThreadID: e.thread, Limit: 1}) {
			if err != nil {
				return false, err
			}
			e.newest = run.ID
			break
		}
	}
	return e.newest != ev.run, nil
}

// wanted reads the filter of a request for a thread's events. Ignored members are named in a response header.
// Last-Event-ID counts if it is later than the position in the body, because clients that repeat a request only add the
// header.
func (s *Server) wanted(answer http.Header, r *http.Request, thread string, raw json.RawMessage) (filter, error) {
	if raw == nil {
		return filter{}, invalid("The request's body must be an object with a list of channels.")
	}
	p, err := parse(raw, s.Depth)
	if err != nil {
		return filter{}, err
	}
	if err := p.note(answer, "", "a stream of events", ofFilters); err != nil {
		return filter{}, err
	}
	f, err := readFilter(p)
	if err != nil {
		return f, err
	}
	last, err := lastEvent(r.Header)
	if f.since = max(f.since, last); err != nil || f.since == 0 {
		return f, err
	}
	newest, err := s.newestNumber(r.Context(), thread)
	if err != nil {
		return f, err
	}
	return f, s.checkSince(r.Context(), thread, f.since, newest)
}
