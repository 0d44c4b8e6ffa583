package face

import (
	"bytes"
	"context"
	"net/http"
	"strconv"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/sse"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// follow streams a task's steps as they are released. It is an extension of ours and drives nothing: steps are still
// asked for by POST.
//
//	event: step, data: a Step, id: its number from 1
//	event: error, data: {"message", "code"}: the stream cannot go on
//	event: end, data: {}: the last step was sent; do not come back
//
// A stream that closes without end or error has nothing to tell for now, as the task waits for a POST. Last-Event-ID
// continues after that step; without it, or with -1, the stream begins at the first step.
func (s steps) follow(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
	after, err := lastEventID(r)
	if err != nil {
		return err
	}
	known, total, err := s.svc.ListSteps(r.Context(), ref, adapter.Page{Number: max(after, 1), Size: 1})
	if err != nil {
		return err
	}
	if after > total {
		return badCursor("Last-Event-ID is ahead of the task, which has %d steps.", total)
	}
	if r.Method == http.MethodHead {
		sse.SetHeader(w.Header())
		return nil
	}
	s.stream(w, r, ref, after, after > 0 && len(known) > 0 && known[0].IsLast)
	return nil
}

// stream writes the stream; done reports whether the client has the last step.
func (s steps) stream(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef, after int, done bool) {
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	out := sse.NewStream(w, s.face.Heartbeat, stop)
	defer out.Close()
	wire, err := s.layout(ref), out.Flush()
	if err != nil {
		return
	}
	for step, failed := range s.svc.FollowSteps(ctx, ref, after) {
		if err = failed; err != nil {
			break
		}
		if out.Write(stepFrame(wire, &step)) != nil || out.Flush() != nil {
			return
		}
		done = step.IsLast
	}
	s.endStream(out, w, r, done, err)
}

func stepFrame(wire layout, step *mapping.Step) []byte {
	data := written(wire.step, step)
	if bytes.ContainsAny(data, "\r\n") { // within carried values; many readers want one line
		data = rawjson.Compact(data)
	}
	return sse.AppendFrame(nil, "step", data, strconv.Itoa(step.N))
}

// endStream says how the stream ended. A client that left is told nothing.
func (s steps) endStream(out *sse.Stream, w http.ResponseWriter, r *http.Request, done bool, err error) {
	var frame []byte
	switch {
	case r.Context().Err() != nil || out.Failed():
		return
	case err != nil:
		e := classify(err)
		s.logCause(w, r, e)
		frame = sse.AppendFrame(nil, "error", streamError(e), "")
	case done:
		frame = sse.AppendFrame(nil, "end", []byte("{}"), "")
	}
	if out.Write(frame) == nil {
		_ = out.Flush()
	}
}

func wantsStream(r *http.Request) (bool, error) {
	if r.URL.RawQuery == "" {
		return false, nil
	}
	q, err := queryOf(r)
	if err != nil {
		return false, err
	}
	switch q.Get("stream") {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	}
	return false, invalid("query", "stream", "true or false")
}

// lastEventID is the number of the last step the client has.
func lastEventID(r *http.Request) (int, error) {
	id := r.Header.Get("Last-Event-ID")
	if id == "" || id == "-1" {
		return 0, nil
	}
	n, ok := parseCount(id)
	if !ok {
		return 0, badCursor("Last-Event-ID must be the number of a step, or -1.")
	}
	return n, nil
}

func badCursor(format string, args ...any) error {
	return mapping.Errorf(mapping.Malformed, mapping.CodeInvalidCursor, format, args...)
}
