package face

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/sse"
	"github.com/apbridge/apbridge/adapter/threadrun/face/render"
	"github.com/apbridge/apbridge/adapter/threadrun/face/request"
	"github.com/apbridge/apbridge/adapter/threadrun/protocol"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
	"go.uber.org/zap"
)

// Modes of a stream of a whole thread. Source: ThreadStreamMode of the LangGraph SDKs. A metadata frame without a
// status begins a run; a metadata frame with the status run_done ends it.
const (
	threadRunModes    = "run_modes"    // each run's frames, in the modes it was created with
	threadLifecycle   = "lifecycle"    // starts and ends of runs
	threadStateUpdate = "state_update" // the state after each change by a run or a client
)

var threadStreamModes = []string{threadRunModes, threadLifecycle, threadStateUpdate}

// streamThread follows all runs of a thread, including future ones, until the client disconnects. Clients of the Agent
// Protocol use the same path to open the WebSocket of its streaming protocol.
func (s *server) streamThread(w http.ResponseWriter, r *http.Request) error {
	if isWebSocket(r) {
		return s.serveSocket(w, r, protocol.Camel)
	}
	thread, err := threadOf(r)
	if err != nil {
		return err
	}
	q := request.QueryOf(r)
	names := q.Texts("stream_mode")
	for _, n := range names {
		if !slices.Contains(threadStreamModes, n) {
			q.Refuse("stream_mode", "must be one of "+strings.Join(threadStreamModes, ", "))
		}
	}
	after, err := render.CursorOf(r.Header)
	if err := cmp.Or(q.Err(), err); err != nil {
		return err
	}
	if len(names) == 0 {
		names = []string{threadRunModes}
	}
	if after, err = s.svc.ThreadPosition(r.Context(), thread, after); err != nil {
		return err
	}
	w.Header().Set("Location", "/threads/"+thread+"/stream")
	ts := &threadStream{s: s, thread: thread, names: names, after: after, views: map[string]*render.View{}}
	return ts.serve(w, r)
}

// threadStream is a response in progress. It is not safe for concurrent use.
type threadStream struct {
	s      *server
	thread string
	names  []string
	after  adapter.Cursor
	views  map[string]*render.View // of runs that have not ended
	out    *sse.Stream
	err    error // of writing
}

func (ts *threadStream) serve(w http.ResponseWriter, r *http.Request) error {
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	defer adapter.MarkLongLived(ctx)()
	ts.out = sse.NewStream(w, ts.s.beat(), stop)
	defer ts.out.Close()
	err := ts.copyFrames(ctx)
	if err == nil || ctx.Err() != nil || ts.out.Failed() || isNotFound(err) {
		return nil
	}
	ts.s.log.Warn("stream interrupted", zap.String("thread", ts.thread), zap.Error(err))
	panic(http.ErrAbortHandler)
}

func (ts *threadStream) copyFrames(ctx context.Context) error {
	if err := ts.out.Flush(); err != nil {
		return err
	}
	for e, err := range ts.s.svc.ThreadEvents(ctx, ts.thread, ts.after, ts.out.Idle) {
		if err == nil {
			err = ts.send(ctx, e)
		}
		if err != nil {
			return cmp.Or(err, ts.out.Flush())
		}
	}
	return ts.out.Flush()
}

// send writes an entry's frames.
func (ts *threadStream) send(ctx context.Context, e *state.Entry) error {
	v, err := ts.view(ctx, e)
	if err != nil {
		return err
	}
	write := func(frame []byte) {
		if ts.err == nil {
			ts.err = ts.out.Write(frame)
		}
	}
	if v != nil {
		v.Frames(e, write)
	}
	ts.beyond(e, write)
	return ts.err
}

// view returns the view of the entry's run, or nil if the entry has no run or no mode shows runs.
func (ts *threadStream) view(ctx context.Context, e *state.Entry) (*render.View, error) {
	if e.RunID == "" || !ts.wants(threadRunModes) && !ts.wants(threadLifecycle) {
		return nil, nil
	}
	if v := ts.views[e.RunID]; v != nil {
		if e.Kind == mapping.KindEnd {
			delete(ts.views, e.RunID)
		}
		return v, nil
	}
	run, err := ts.s.svc.GetRun(ctx, adapter.RunRef{ThreadID: ts.thread, RunID: e.RunID})
	if isNotFound(err) {
		return nil, nil // deleted
	}
	if err != nil {
		return nil, err
	}
	set := render.Always
	if ts.wants(threadRunModes) {
		set = render.ModesOf(run.Options.StreamModes)
	}
	v := render.NewView(run, set, ts.after)
	if err := ts.s.describe(ctx, v); err != nil {
		return nil, err
	}
	if e.Kind != mapping.KindEnd {
		ts.views[e.RunID] = v
	}
	return v, ts.s.tokensBefore(ctx, v, e)
}

// beyond writes the frames that only exist in a stream of a thread: the end of a run, and the state after a run or an
// update.
func (ts *threadStream) beyond(e *state.Entry, write func([]byte)) {
	ended := e.Kind == mapping.KindEnd
	if ended && (ts.wants(threadRunModes) || ts.wants(threadLifecycle)) {
		render.RunDone(e, ts.after, write)
	}
	if ts.wants(threadStateUpdate) && (ended || e.RunID == "" && e.Kind == mapping.KindState) {
		render.StateUpdate(ts.thread, e, ts.after, write)
	}
}

func (ts *threadStream) wants(name string) bool { return slices.Contains(ts.names, name) }
