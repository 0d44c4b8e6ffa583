package backend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/apbridge/apbridge/adapter/sse"
	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping"
)

// stream is the event stream of a run. It is reopened if it breaks.
type stream struct {
	*job
	frames   *translator
	body     io.ReadCloser   // nil when none is open
	events   *sse.Reader     // of the body
	after    string          // the id after which the stream continues; "" for the start
	ctx      context.Context // of the newest stream
	leave    context.CancelCauseFunc
	rejoined bool // frames may have been missed
}

// open opens an event stream and replaces the previous one.
func (st *stream) open(method, path string, body any, lastID string) (*http.Response, error) {
	st.ctx, st.leave = context.WithCancelCause(st.job.ctx)
	st.after = lastID
	resp, err := st.b.http.stream(st.ctx, method, path, body, lastID)
	if err != nil {
		st.leave(nil)
	}
	return resp, err
}

// hear sets the stream to read next.
func (st *stream) hear(resp *http.Response) {
	st.body, st.events = resp.Body, sse.NewReader(resp.Body, int(st.b.up.Limits.Event))
}

// fromStart is the Last-Event-ID that requests all frames of a run from LangGraph's servers.
const fromStart = "-1"

// rejoin reopens the stream of the active run, after the last frame.
func (st *stream) rejoin() error {
	st.rejoined = true
	if st.link.RemoteRun == "" {
		return st.unknown(orSilent(nil))
	}
	path := runPath(st.link.Remote, st.link.RemoteRun) + "/stream"
	resp, err := st.open(http.MethodGet, path, nil, cmp.Or(st.frames.told.lastID, fromStart))
	if upstream.Status(err) == http.StatusNotFound {
		return st.lost("run")
	}
	if err == nil {
		st.hear(resp)
	}
	return err
}

// read reads frames until the stream closes or its run has ended. Then it closes the stream.
func (st *stream) read() error {
	defer st.close()
	told := &st.frames.told
	told.open(st.after)
	w := st.watch()
	defer w.close()
	if st.rejoined { // the run may have ended long ago, and no frame may follow
		w.told.Store(true)
		st.watchRun(w)
	}
	for {
		f, err := st.events.Next()
		switch {
		case err != nil:
			return st.over(w, err)
		case told.resumed.repeats(f):
			w.frames.Add(1) // not a sign of activity of the run
			continue
		}
		if err := st.handleFrame(w, f); err != nil {
			return err
		}
	}
}

// over interprets the end of the stream. It returns nil if the stream was closed properly.
func (st *stream) over(w *endWaiter, err error) error {
	if w.ended() {
		st.frames.told.over = true
		return nil
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return st.unreadable(err)
}

// handleFrame handles a frame and starts to watch for the end of the run.
func (st *stream) handleFrame(w *endWaiter, f sse.Event) error {
	st.alive()
	if err := st.frames.frame(f); err != nil {
		return err
	}
	ended := st.rejoined || st.frames.told.ending != endNotSeen // a reopened stream may never show the end
	w.noted(ended)
	if st.frames.told.over {
		w.leaveSoon()
	}
	if ended {
		st.watchRun(w)
	}
	return nil
}

func (st *stream) watchRun(w *endWaiter) {
	if st.link.RemoteRun != "" && !st.target.plain {
		w.watchRun(runPath(st.link.Remote, st.link.RemoteRun))
	}
}

func (st *stream) close() {
	if st.body != nil {
		_ = st.body.Close()
		st.body, st.events = nil, nil
	}
}

// unreadable returns the error of a stream that could not be read.
func (st *stream) unreadable(err error) error {
	if errors.Is(err, sse.ErrTooLong) {
		return mapping.Errorf(mapping.TooLarge, mapping.CodeBadUpstream,
			"Agent %q sent an event longer than limits.event (%d bytes).", st.b.up.Name, int(st.b.up.Limits.Event))
	}
	return st.b.http.failed(&upstream.Call{Method: http.MethodGet, Path: "its event stream"}, st.b.http.to.Broken(st.job.ctx, err))
}

// backoff counts how often a stream was reopened without a new frame.
type backoff struct {
	failures int    // consecutive failures to open or read a stream or to ask for the run
	silences int    // consecutive streams without new frames
	lastID   string // the newest SSE id at the previous reopening
}

// nextPause returns the pause before the stream is reopened, or false after too many failures. If there was a new frame
// before the stream closed, it is reopened at once.
func (b *backoff) nextPause(pauses []time.Duration, lastID string, failed bool) (time.Duration, bool) {
	if lastID != b.lastID {
		b.failures, b.silences = 0, 0
	}
	b.lastID = lastID
	var wait time.Duration
	if b.silences > 0 {
		wait = pauses[min(b.silences, len(pauses))-1]
	}
	b.silences++
	if !failed {
		return wait, true
	}
	if b.failures == len(pauses) {
		return 0, false
	}
	b.failures++
	return pauses[b.failures-1], true
}

// mayPass reports whether an error may be temporary.
func mayPass(err error) bool { return upstream.MayPass(err) || upstream.Status(err) >= 500 }

func orSilent(err error) error {
	if err != nil {
		return err
	}
	return errors.New("its stream keeps closing although the run is active")
}

// stream opens an event stream. A non-empty lastID is sent as Last-Event-ID.
func (c *client) stream(ctx context.Context, method, path string, body any, lastID string) (*http.Response, error) {
	call := &upstream.Call{Method: method, Path: path, Operation: upstream.OpRun, Accept: "text/event-stream"}
	if lastID != "" {
		call.Header = map[string]string{"Last-Event-ID": lastID}
	}
	if method == http.MethodGet {
		call.Operation, body = upstream.OpFollow, nil
	}
	resp, err := c.openOnce(ctx, call, body)
	if err != nil {
		return nil, err
	}
	if kind := resp.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") {
		resp.Body.Close()
		return nil, c.bad(method, path, fmt.Sprintf("it is %q, not an event stream", kind))
	}
	return resp, nil
}
