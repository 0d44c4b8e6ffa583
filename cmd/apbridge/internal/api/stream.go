package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/apbridge/apbridge/adapter/sse"
	"github.com/apbridge/apbridge/mapping/pause"
)

// A broken stream is resumed after its last event. mostBreaks bounds the attempts without a new event, and breakPause
// is the pause before each.
const (
	mostBreaks = 5
	breakPause = time.Second
)

// Follow calls each with every event of a run's stream, from the start of the run, and returns when the run has ended.
// Events have the mode "updates". An error of each stops it.
func (c *Client) Follow(ctx context.Context, run string, each func(sse.Event) error) error {
	f := &following{c: c, path: "/runs/" + url.PathEscape(run) + "/stream?stream_mode=updates", after: "-1", each: each}
	for breaks := 0; ; breaks++ {
		broken, err := f.read(ctx)
		if !broken {
			return err
		}
		if f.seen {
			breaks = 0
		}
		if breaks == mostBreaks {
			return c.unread(ctx, err)
		}
		if err := pause.For(ctx, breakPause); err != nil {
			return err
		}
	}
}

type following struct {
	c     *Client
	path  string
	after string // id of the last event
	seen  bool   // an event arrived since the stream was opened
	each  func(sse.Event) error
}

// read reads one connection. broken reports whether the stream may be resumed.
func (f *following) read(ctx context.Context) (broken bool, err error) {
	f.seen = false
	res, err := f.c.send(ctx, http.MethodGet, f.path, nil, http.Header{"Last-Event-Id": {f.after}})
	if err != nil {
		return f.after != "-1" && ctx.Err() == nil && retried(err), err
	}
	defer res.Body.Close()
	frames := sse.NewReader(res.Body, 0)
	for {
		frame, err := frames.Next()
		switch {
		case errors.Is(err, io.EOF):
			return false, nil
		case ctx.Err() != nil:
			return false, context.Cause(ctx)
		case err != nil:
			return !errors.Is(err, sse.ErrTooLong), err
		}
		f.seen = true
		if frame.ID != "" {
			f.after = frame.ID
		}
		if err := f.each(frame); err != nil {
			return false, err
		}
	}
}

// retried reports whether a bridge that restarts may return this error.
func retried(err error) bool {
	var r *Refused
	return !errors.As(err, &r) || r.Status == http.StatusServiceUnavailable || r.Status == http.StatusBadGateway
}
