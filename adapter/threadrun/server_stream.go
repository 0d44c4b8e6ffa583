package threadrun

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/sse"
	"github.com/apbridge/apbridge/mapping"
	"go.uber.org/zap"
)

// arrival is an entry of a run, or why there are no more.
type arrival struct {
	entry *mapping.Entry
	err   error
}

// arrivals pulls entries in a goroutine of its own, which ends when they do or
// ctx ends. The reader must drain or cancel.
func (s *server) arrivals(ctx context.Context, entries iter.Seq2[*mapping.Entry, error]) <-chan arrival {
	ch := make(chan arrival, 16)
	go func() {
		defer close(ch)
		defer func() {
			if p := recover(); p != nil {
				s.log.Error("reading events panicked", zap.Any("panic", p), zap.Stack("stack"))
				offer(ctx, ch, arrival{err: fmt.Errorf("reading events panicked: %v", p)})
			}
		}()
		for e, err := range entries {
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
func (s *server) stream(w http.ResponseWriter, r *http.Request, v *view, cancel bool) error {
	ctx, stop := context.WithCancel(r.Context())
	ref := adapter.RunRef{ThreadID: v.run.ThreadID, RunID: v.run.ID}
	if err := s.describe(ctx, v); err != nil {
		stop()
		return err
	}
	in := s.arrivals(ctx, s.svc.Runs.Events(ctx, ref, v.after))
	defer func() { // the goroutine must not outlive the request
		stop()
		for range in {
		}
	}()
	first, ok, err := awaitFirst(ctx, in, v.after)
	if r.Context().Err() != nil {
		s.left(r.Context(), &v.run, cancel)
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
	beat := time.NewTicker(st.s.beat())
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

// beat is the interval between heartbeats.
func (s *server) beat() time.Duration {
	if s.face.Heartbeat <= 0 {
		return 15 * time.Second
	}
	return s.face.Heartbeat
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
	if st.primed || st.v.after.Start {
		return nil
	}
	st.primed = true
	return st.s.tokensBefore(ctx, st.v, first)
}

// tokensBefore gives a view the tokens of its run before an entry.
func (s *server) tokensBefore(ctx context.Context, v *view, first *mapping.Entry) error {
	if v.partials == nil || first.Kind == mapping.KindStarted && first.Head.Attempt <= 1 {
		return nil
	}
	ref := adapter.RunRef{ThreadID: v.run.ThreadID, RunID: v.run.ID}
	for e, err := range s.svc.Runs.Events(ctx, ref, adapter.Cursor{K: -1, Start: true}) {
		if err != nil {
			return err
		}
		if e.Seq >= first.Seq {
			break
		}
		if e.Kind == mapping.KindDelta {
			v.partials.add(e)
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
		st.s.left(ctx, &st.v.run, cancel)
		return nil
	}
	if isNotFound(err) || isExpired(err) { // deleted meanwhile; coming back would not help
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

// isExpired: the log does not keep any more what the reader asks for.
func isExpired(err error) bool {
	return err != nil && mapping.Classify(err).Code == mapping.CodeCursorExpired
}
