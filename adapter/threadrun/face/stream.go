package face

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/sse"
	"github.com/apbridge/apbridge/adapter/threadrun/face/render"
	"github.com/apbridge/apbridge/adapter/threadrun/face/request"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
	"go.uber.org/zap"
)

// streamRun sends a run's frames until its end. If cancel is true, the run is cancelled when the client disconnects.
func (s *server) streamRun(w http.ResponseWriter, r *http.Request, v *render.View, cancel bool) error {
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	if err := s.describe(ctx, v); err != nil {
		return err
	}
	st := s.newStreaming(w, v, stop)
	defer st.out.Close()
	return st.settle(r.Context(), st.copyFrames(ctx), cancel)
}

// newStreaming returns a response that has not begun. lost is called if the client is lost (see sse.NewStream).
func (s *server) newStreaming(w http.ResponseWriter, v *render.View, lost func()) *streaming {
	st := &streaming{s: s, v: v, out: sse.NewStream(w, s.beat(), lost)}
	if !v.After.Start && !v.After.Live {
		st.out.DelayStart(cursorGrace)
	}
	return st
}

// settle ends a response, or returns err if the response has not begun.
func (st *streaming) settle(ctx context.Context, err error, cancel bool) error {
	switch {
	case !st.out.Withdraw(): // after Withdraw no timer begins the response
		return st.finish(ctx, err, cancel)
	case ctx.Err() != nil:
		st.s.cancelAbandoned(ctx, st.v.Ref, cancel)
		return nil
	}
	return err
}

// describe sets the fields of a view that depend on the agent, if it needs them.
func (s *server) describe(ctx context.Context, v *render.View) error {
	if !v.AsksForEvents() {
		return nil
	}
	a, err := s.svc.GetAssistant(ctx, v.Agent)
	if isNotFound(err) {
		return nil // the agent is no longer configured, but its runs can still be read
	}
	v.Exposes = a.Exposes
	return err
}

// cursorGrace is the maximum time for which a stream with a cursor waits for its first event before it sends the
// status. The log refuses an invalid cursor at once, and that should be an HTTP error.
const cursorGrace = time.Second

// streaming is a response in progress. The sse.Stream keeps it alive while there are no events. Not safe for concurrent
// use.
type streaming struct {
	s   *server
	v   *render.View
	out *sse.Stream
	err error // of writing

	primed bool
	ended  bool
}

// copyFrames sends frames as they arrive. It returns nil after the run's end or if no more frames are expected.
func (st *streaming) copyFrames(ctx context.Context) error {
	for e, err := range st.s.svc.RunEvents(ctx, st.v.Ref, st.v.After, st.out.Idle) {
		if err == nil {
			err = st.send(ctx, e)
		}
		if err != nil {
			return cmp.Or(err, flushed(st.out))
		}
	}
	return st.out.Flush()
}

// flushed flushes a response that has begun.
func flushed(out *sse.Stream) error {
	if !out.Begun() {
		return nil
	}
	return out.Flush()
}

// beat returns the interval between heartbeats.
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

// prime reads the tokens before the first entry, unless the reader starts at the beginning of the run. They are needed
// because messages/partial has the whole text so far.
func (st *streaming) prime(ctx context.Context, first *state.Entry) error {
	if st.primed || st.v.After.Start {
		return nil
	}
	st.primed = true
	return st.s.tokensBefore(ctx, st.v, first)
}

// tokensBefore adds the tokens of a run before an entry to its view.
func (s *server) tokensBefore(ctx context.Context, v *render.View, first *state.Entry) error {
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

// finish ends the response. If the log could not be read to the end, it closes the connection abruptly, so that the
// client reconnects with the id of its last frame. After a clean end the client would assume that the run has ended.
func (st *streaming) finish(ctx context.Context, err error, cancel bool) error {
	if st.ended && err == nil {
		return nil
	}
	if ctx.Err() != nil || st.out.Failed() {
		st.s.cancelAbandoned(ctx, st.v.Ref, cancel)
		return nil
	}
	if isNotFound(err) || isExpired(err) { // deleted; reconnecting would not help
		_ = st.out.Write(sse.AppendFrame(nil, "error", render.FaultObject(mapping.FaultOf(err)), ""))
		return nil
	}
	if err == nil && !st.stillActive(ctx) {
		return nil
	}
	st.s.log.Warn("stream interrupted", zap.String("run", st.v.Ref.RunID), zap.Error(err))
	panic(http.ErrAbortHandler)
}

// stillActive reports whether the run is active. If there are no new entries, a reader of an active run was
// interrupted, and a reader of an ended run has everything.
func (st *streaming) stillActive(ctx context.Context) bool {
	run, err := st.s.svc.GetRun(ctx, st.v.Ref)
	return err == nil && run.Status.Active()
}

// isExpired reports whether the log no longer has the entries that the reader needs.
func isExpired(err error) bool {
	return err != nil && mapping.Classify(err).Code == mapping.CodeCursorExpired
}

func (s *server) createRunAndStream(w http.ResponseWriter, r *http.Request) error {
	v, cancel, err := s.startRunView(w, r)
	if err != nil {
		return err
	}
	return s.streamRun(w, r, v, cancel)
}

func (s *server) startRunView(w http.ResponseWriter, r *http.Request) (v *render.View, cancel bool, err error) {
	q, started, err := s.startRun(w, r, "stream")
	if err != nil {
		return nil, false, err
	}
	started.Run.Options.Subgraphs = q.Subgraphs
	v = render.NewView(&started.Run, render.ModesOf(q.StreamModes), adapter.Cursor{K: -1, Start: true})
	v.Within(namespaces(r))
	return v, q.cancel, nil
}

// namespaces returns the namespaces in a reader's query. Their parts are joined with "|", as in the names of frames. ""
// is the root. Source: streamNamespaces of the LangGraph SDK.
func namespaces(r *http.Request) []string { return r.URL.Query()["namespace"] }

// joinRunStream follows a run that another request started, in the requested modes or else those of the run.
func (s *server) joinRunStream(w http.ResponseWriter, r *http.Request) error {
	q := request.QueryOf(r)
	names := q.Texts("stream_mode")
	cancel := q.Flag("cancel_on_disconnect")
	if err := cmp.Or(q.Err(), checkModes(names)); err != nil {
		return err
	}
	after, err := render.CursorOf(r.Header)
	if err != nil {
		return err
	}
	if id := q.UUID("checkpoint_id"); id != "" && (after.Start || after.Live) {
		after = adapter.Cursor{K: -1, Checkpoint: id}
	}
	if err := q.Err(); err != nil {
		return err
	}
	return s.followRun(w, r, names, after, cancel)
}

// resumeRunStream is like joinRunStream with the parameters in the body.
func (s *server) resumeRunStream(w http.ResponseWriter, r *http.Request) error {
	o, err := s.request(w, r, false)
	if err != nil {
		return err
	}
	names := o.TextOrTexts("stream_mode", langGraphModes)
	cancel := o.Flag("cancel_on_disconnect", false)
	id, given := o.Text("last_event_id"), o.Get("last_event_id") != nil
	if err := o.Err(); err != nil {
		return err
	}
	after, err := render.CursorOf(r.Header)
	if given {
		after, err = render.ParseCursor(id)
	}
	if err != nil {
		return err
	}
	return s.followRun(w, r, names, after, cancel)
}

func checkModes(names []string) error {
	for _, n := range names {
		if !slices.Contains(langGraphModes, n) {
			return mapping.Errorf(mapping.Invalid, mapping.CodeInvalid,
				"stream_mode contains the unknown mode %q. The modes are %s.", n, strings.Join(langGraphModes, ", "))
		}
	}
	return nil
}

func (s *server) followRun(w http.ResponseWriter, r *http.Request, names []string, after adapter.Cursor, cancel bool) error {
	v, err := s.followRunView(w, r, names, after, cancel)
	if err != nil {
		return err
	}
	return s.streamRun(w, r, v, cancel)
}

func (s *server) followRunView(w http.ResponseWriter, r *http.Request, names []string, after adapter.Cursor, cancel bool) (*render.View, error) {
	ref, err := refOf(r)
	if err != nil {
		return nil, err
	}
	if err := mayCancel(r, cancel); err != nil {
		return nil, err
	}
	run, err := s.svc.GetRun(readerContext(r, cancel), ref)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		names = run.Options.StreamModes
	}
	at := "/runs/" + run.ID
	if isStateless(r) {
		w.Header().Set("Content-Location", at)
	} else {
		at = "/threads/" + run.ThreadID + at
	}
	w.Header().Set("Location", at+"/stream")
	v := render.NewView(run, render.ModesOf(names), after)
	v.Within(namespaces(r))
	return v, nil
}
