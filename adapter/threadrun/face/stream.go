package face

import (
	"context"
	"net/http"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/sse"
	"github.com/apbridge/apbridge/adapter/threadrun/face/render"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
	"go.uber.org/zap"
)

// streams answers with the frames of a run, or of all runs of a thread.
type streams struct{ *server }

// serve sends a run's frames until its end.
func (s streams) serve(w http.ResponseWriter, r *http.Request, v *render.View, cancel bool) error {
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	if err := s.describe(ctx, v); err != nil {
		return err
	}
	st := s.answer(w, v, stop)
	defer st.out.Close()
	return st.settle(r.Context(), st.pump(ctx), cancel)
}

// answer is a stream that nothing was said in yet. lost is called when the client does not take it any more.
func (s streams) answer(w http.ResponseWriter, v *render.View, lost func()) *streaming {
	st := &streaming{s: s, v: v, out: sse.NewStream(w, s.beat(), lost)}
	if !v.After.Start && !v.After.Live {
		st.out.DelayStart(cursorGrace)
	}
	return st
}

// settle ends an answer, or refuses the request where none has begun.
func (st *streaming) settle(ctx context.Context, err error, cancel bool) error {
	switch {
	case !st.out.Withdraw(): // from here on no timer begins it
		return st.finish(ctx, err, cancel)
	case ctx.Err() != nil:
		cancels(st.s).left(ctx, st.v.Ref, cancel)
		return nil
	}
	return err
}

// describe fills in what a view must know of the agent, where it matters.
func (s streams) describe(ctx context.Context, v *render.View) error {
	if !v.AsksForEvents() {
		return nil
	}
	a, err := s.svc.GetAssistant(ctx, v.Agent)
	if isNotFound(err) {
		return nil // no longer configured; its runs can still be read
	}
	v.Opaque = a.Opaque
	return err
}

// cursorGrace is how long a stream with a cursor waits for its first event before it says 200: a cursor that the log
// refuses should be an HTTP error, and the log says so at once.
const cursorGrace = time.Second

// streaming is one answer under way. Used by one goroutine: while nothing comes, the stream keeps itself alive.
type streaming struct {
	s   streams
	v   *render.View
	out *sse.Stream
	err error // of writing

	primed bool
	ended  bool
}

// pump sends what comes; it returns nil after the run's end, and when there is nothing more to come.
func (st *streaming) pump(ctx context.Context) error {
	for e, err := range st.s.svc.RunEvents(ctx, st.v.Ref, st.v.After, st.out.Idle) {
		if err == nil {
			err = st.send(ctx, e)
		}
		if err != nil {
			return firstOf(err, flushed(st.out))
		}
	}
	return st.out.Flush()
}

// flushed sends what is buffered of an answer that has begun.
func flushed(out *sse.Stream) error {
	if !out.Begun() {
		return nil
	}
	return out.Flush()
}

// beat is the interval between heartbeats.
func (s *server) beat() time.Duration {
	if s.face.Heartbeat <= 0 {
		return 15 * time.Second
	}
	return s.face.Heartbeat
}

// send writes an entry's frames.
func (st *streaming) send(ctx context.Context, e *state.Entry) error {
	if err := st.prime(ctx, e); err != nil {
		return err
	}
	st.v.Frames(e, func(frame []byte) {
		if st.err == nil {
			st.err = st.out.Write(frame)
		}
	})
	st.ended = st.ended || e.Kind == mapping.KindEnd
	return st.err
}

// prime reads the tokens before the first entry of a reader that does not start at the run's start: messages/partial
// tells the whole text so far.
func (st *streaming) prime(ctx context.Context, first *state.Entry) error {
	if st.primed || st.v.After.Start {
		return nil
	}
	st.primed = true
	return st.s.tokensBefore(ctx, st.v, first)
}

// tokensBefore gives a view the tokens of its run before an entry.
func (s streams) tokensBefore(ctx context.Context, v *render.View, first *state.Entry) error {
	if !v.AsksForTokens() || first.Kind == mapping.KindStarted && first.Head.Attempt <= 1 {
		return nil
	}
	for e, err := range s.svc.RunEvents(ctx, v.Ref, adapter.Cursor{K: -1, Start: true}, nil) {
		if err != nil {
			return err
		}
		if e.Seq >= first.Seq {
			break
		}
		v.Recall(e)
	}
	return nil
}

// finish ends the answer. A stream that could not be read to its end is cut off, not closed: a clean close would tell
// the client that the run is over, after a cut it comes back with the id of its last frame.
func (st *streaming) finish(ctx context.Context, err error, cancel bool) error {
	if st.ended && err == nil {
		return nil
	}
	if ctx.Err() != nil || st.out.Failed() {
		cancels(st.s).left(ctx, st.v.Ref, cancel)
		return nil
	}
	if isNotFound(err) || isExpired(err) { // deleted meanwhile; coming back would not help
		_ = st.out.Write(sse.AppendFrame(nil, "error", render.FaultObject(mapping.FaultOf(err)), ""))
		return nil
	}
	if err == nil && !st.stillActive(ctx) {
		return nil
	}
	st.s.log.Warn("stream was cut off", zap.String("run", st.v.Ref.RunID), zap.Error(err))
	panic(http.ErrAbortHandler)
}

// stillActive: a reader that had seen the end already gets nothing more, and that is right; one whose run goes on was
// left alone.
func (st *streaming) stillActive(ctx context.Context) bool {
	run, err := st.s.svc.GetRun(ctx, st.v.Ref)
	return err == nil && run.Status.Active()
}

// isExpired: the log does not keep any more what the reader asks for.
func isExpired(err error) bool {
	return err != nil && mapping.Classify(err).Code == mapping.CodeCursorExpired
}
