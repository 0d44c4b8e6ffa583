package threadrun

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/sse"
	"github.com/apbridge/apbridge/mapping"
	"go.uber.org/zap"
)

func (s *server) streamThread(w http.ResponseWriter, r *http.Request) error {
	return s.startAndStream(w, r)
}

func (s *server) streamStateless(w http.ResponseWriter, r *http.Request) error {
	return s.startAndStream(w, r)
}

func (s *server) startAndStream(w http.ResponseWriter, r *http.Request) error {
	q, run, err := s.start(w, r, "stream")
	if err != nil {
		return err
	}
	run.Options.Subgraphs = q.Subgraphs
	return s.stream(w, r, run, modeSet(q.StreamModes), adapter.Cursor{K: -1, Start: true}, q.cancel)
}

// joinStream follows a run that was started elsewhere, in the modes asked for,
// or in those it was made with.
func (s *server) joinStream(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r)
	names := q.texts("stream_mode")
	cancel := q.flag("cancel_on_disconnect")
	if err := firstOf(q.err(), checkModes(names)); err != nil {
		return err
	}
	after, err := cursorOf(r.Header)
	if err != nil {
		return err
	}
	return s.follow(w, r, names, after, cancel)
}

// resumeStream is joinStream with what it needs in the body.
func (s *server) resumeStream(w http.ResponseWriter, r *http.Request) error {
	o, err := s.request(w, r, false)
	if err != nil {
		return err
	}
	names := o.textOrTexts("stream_mode", langGraphModes)
	cancel := o.flag("cancel_on_disconnect", false)
	id, given := o.text("last_event_id"), o.get("last_event_id") != nil
	if err := o.err(); err != nil {
		return err
	}
	after, err := cursorOf(r.Header)
	if given {
		after, err = parseCursor(id)
	}
	if err != nil {
		return err
	}
	return s.follow(w, r, names, after, cancel)
}

func checkModes(names []string) error {
	for _, n := range names {
		if !oneOf(n, langGraphModes) {
			return mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "stream_mode names the unknown mode %q.", n)
		}
	}
	return nil
}

func (s *server) follow(w http.ResponseWriter, r *http.Request, names []string, after adapter.Cursor, cancel bool) error {
	ref, err := refOf(r)
	if err != nil {
		return err
	}
	run, err := s.svc.Runs.Get(r.Context(), ref)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		names = run.Options.StreamModes
	}
	at := "/runs/" + run.ID + "/stream"
	if !isStateless(r) {
		at = "/threads/" + run.ThreadID + at
	}
	w.Header().Set("Location", at)
	return s.stream(w, r, run, modeSet(names), after, cancel)
}

// arrival is an entry of a run, or why there are no more.
type arrival struct {
	entry *mapping.Entry
	err   error
}

// arrivals pulls a run's entries in a goroutine of its own, which ends when
// the run does or ctx ends. The reader must drain or cancel.
func (s *server) arrivals(ctx context.Context, ref adapter.RunRef, after adapter.Cursor) <-chan arrival {
	ch := make(chan arrival, 64)
	go func() {
		defer close(ch)
		defer func() {
			if p := recover(); p != nil {
				s.log.Error("reading events panicked", zap.Any("panic", p), zap.Stack("stack"))
				offer(ctx, ch, arrival{err: fmt.Errorf("reading events panicked: %v", p)})
			}
		}()
		for e, err := range s.svc.Runs.Events(ctx, ref, after) {
			if !offer(ctx, ch, arrival{e, err}) || err != nil {
				return
			}
		}
	}()
	return ch
}

func offer(ctx context.Context, ch chan<- arrival, a arrival) bool {
	select {
	case ch <- a:
		return true
	case <-ctx.Done():
		return false
	}
}

// stream sends a run's frames until its end.
func (s *server) stream(w http.ResponseWriter, r *http.Request, run mapping.Run, set modeMask, after adapter.Cursor, cancel bool) error {
	ctx, stop := context.WithCancel(r.Context())
	ref := adapter.RunRef{ThreadID: run.ThreadID, RunID: run.ID}
	v := newView(run, set, after)
	if err := s.describe(ctx, v); err != nil {
		stop()
		return err
	}
	in := s.arrivals(ctx, ref, after)
	defer func() { // the goroutine must not outlive the request
		stop()
		for range in {
		}
	}()
	first, ok, err := awaitFirst(ctx, in, after)
	if r.Context().Err() != nil {
		s.left(r.Context(), run, cancel)
		return nil
	}
	if err != nil {
		return err
	}
	st := &streaming{s: s, v: v, ref: ref, in: in, out: sse.Start(w)}
	defer st.out.Close()
	return st.finish(r.Context(), st.pump(ctx, first, ok), cancel)
}

// describe fills in what a view must know of the agent, where it matters.
func (s *server) describe(ctx context.Context, v *view) error {
	if v.modes&modeEvents == 0 {
		return nil
	}
	a, err := s.svc.Agents.Resolve(ctx, v.run.Agent)
	if isNotFound(err) {
		return nil // no longer configured; its runs can still be read
	}
	v.opaque = a.Opaque
	return err
}

// cursorGrace is how long a stream with a cursor waits for its first event
// before it says 200: a cursor that the log refuses should be an HTTP error,
// and the log says so at once.
const cursorGrace = time.Second

// awaitFirst waits for the first entry where the cursor may be refused.
func awaitFirst(ctx context.Context, in <-chan arrival, after adapter.Cursor) (first arrival, ok bool, err error) {
	if after.Start || after.Live {
		return first, false, nil
	}
	timer := time.NewTimer(cursorGrace)
	defer timer.Stop()
	select {
	case first, ok = <-in:
		return first, ok, first.err
	case <-timer.C:
	case <-ctx.Done():
	}
	return first, false, nil
}

// streaming is one answer under way.
type streaming struct {
	s   *server
	v   *view
	ref adapter.RunRef
	in  <-chan arrival
	out *sse.Writer
	err error // of writing

	primed bool
	ended  bool
}

// pump sends what arrives; it returns nil after the run's end, and when there
// is nothing more to come.
func (st *streaming) pump(ctx context.Context, first arrival, ok bool) error {
	if ok && first.entry != nil {
		if err := st.send(ctx, first.entry); err != nil {
			return err
		}
	}
	every := st.s.face.Heartbeat
	if every <= 0 {
		every = 15 * time.Second
	}
	beat := time.NewTicker(every)
	defer beat.Stop()
	for {
		select {
		case a, ok := <-st.in:
			if !ok || a.err != nil {
				return firstOf(a.err, st.out.Flush())
			}
			if err := st.send(ctx, a.entry); err != nil {
				return err
			}
		case <-beat.C:
			if err := st.out.Heartbeat(); err != nil {
				return err
			}
		}
	}
}

// send writes an entry's frames and flushes when no further entry waits.
func (st *streaming) send(ctx context.Context, e *mapping.Entry) error {
	if err := st.prime(ctx, e); err != nil {
		return err
	}
	st.v.frames(e, func(frame []byte) {
		if st.err == nil {
			st.err = st.out.Write(frame)
		}
	})
	st.ended = st.ended || e.Kind == mapping.KindEnd
	if st.err == nil && len(st.in) == 0 {
		st.err = st.out.Flush()
	}
	return st.err
}

// prime reads the tokens before the first entry of a reader that does not
// start at the run's start: messages/partial tells the whole text so far.
func (st *streaming) prime(ctx context.Context, first *mapping.Entry) error {
	if st.primed || st.v.partials == nil || st.v.after.Start {
		return nil
	}
	st.primed = true
	for e, err := range st.s.svc.Runs.Events(ctx, st.ref, adapter.Cursor{K: -1, Start: true}) {
		if err != nil {
			return err
		}
		if e.Seq >= first.Seq {
			break
		}
		if e.Kind == mapping.KindDelta {
			st.v.partials.add(e)
		}
	}
	return nil
}

// finish ends the answer. A stream that could not be read to its end is cut
// off, not closed: a clean close would tell the client that the run is over,
// after a cut it comes back with the id of its last frame.
func (st *streaming) finish(ctx context.Context, err error, cancel bool) error {
	if st.ended && err == nil {
		return nil
	}
	if ctx.Err() != nil || st.out.Failed() {
		st.s.left(ctx, st.v.run, cancel)
		return nil
	}
	if isNotFound(err) { // deleted meanwhile
		_ = st.out.Write(sse.AppendFrame(nil, "error", faultObject(mapping.FaultOf(err)), ""))
		return nil
	}
	if err == nil && !st.stillActive(ctx) {
		return nil
	}
	st.s.log.Warn("stream was cut off", zap.String("run", st.ref.RunID), zap.Error(err))
	panic(http.ErrAbortHandler)
}

// stillActive: a reader that had seen the end already gets nothing more, and
// that is right; one whose run goes on was left alone.
func (st *streaming) stillActive(ctx context.Context) bool {
	run, err := st.s.svc.Runs.Get(ctx, st.ref)
	return err == nil && run.Status.Active()
}
