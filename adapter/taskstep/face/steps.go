package face

import (
	"bytes"
	"context"
	"iter"
	"net/http"
	"strconv"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/sse"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/gorilla/mux"
)

const lossHeader = "X-Apbridge-Unsupported"

// executeStep serves the operation executeAgentTaskStep. It takes as long as the agent and sends nothing earlier,
// because a status cannot be changed later. The step of a failed run is an ordinary one with additional_output.error.
//
// The hand-out is confirmed only after the whole response was sent to a client that was still there. A lost response is
// therefore repeated.
func (s *server) executeStep(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
	req, err := s.readRequest(w, r)
	if err != nil {
		return err
	}
	retries, said, err := adapter.Retries(r.Header.Values(adapter.RetriesHeader))
	if err != nil {
		return mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "%s.", err)
	}
	out, err := s.svc.ExecuteStep(r.Context(), ref, adapter.StepRequest{
		Retries: retries, RetriesSet: said,
		Input:           req.Input,
		AdditionalInput: req.AdditionalInput,
		IdempotencyKey:  r.Header.Get(adapter.IdempotencyKeyHeader),
	})
	if err != nil {
		return err
	}
	if out.Release != nil {
		defer out.Release()
	}
	if len(out.Losses) > 0 {
		if v := mapping.LossHeader(out.Losses); v != "" {
			w.Header().Set(lossHeader, v)
		}
	}
	if deliver(w, r, http.StatusOK, s.layout(ref).stepPieces(&out.Step)) && out.Confirm != nil {
		out.Confirm()
	}
	return nil
}

// listSteps serves the operation listAgentTaskSteps. With stream=true it sends the bridge's event stream instead.
func (s *server) listSteps(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
	stream, err := wantsStream(r)
	if err != nil {
		return err
	}
	if stream {
		done, err := adapter.OpenStream(r.Context())
		if err != nil {
			return err
		}
		defer done()
		return s.followSteps(w, r, ref)
	}
	return list(s, w, r, "steps", func(ctx context.Context, p adapter.Page) (iter.Seq2[mapping.Step, error], int, error) {
		return short(s.svc.ListSteps(ctx, ref, p))
	}, s.layout(ref).step)
}

// getStep serves the operation getAgentTaskStep.
func (s *server) getStep(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
	id := mux.Vars(r)["step"]
	if !storable(id) {
		return mapping.Errorf(mapping.NotFound, mapping.CodeStepNotFound, "The task has no step with this id.")
	}
	step, err := s.svc.GetStep(r.Context(), ref, id)
	if err != nil {
		return err
	}
	_ = send(w, http.StatusOK, written(s.layout(ref).step, &step))
	return nil
}

// followSteps streams a task's steps as they are released. It is an extension of the protocol. It does not drive the
// task; clients still request each step with a POST.
//
//	event: step, data: a Step, id: its number from 1
//	event: error, data: {"message", "code"}: the stream cannot continue
//	event: end, data: {}: the last step was sent; do not reconnect
//
// A stream closes without end or error if the task waits for a POST. Last-Event-ID continues after that step; without
// it, or with -1, the stream begins at the first step.
func (s *server) followSteps(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
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
	s.streamSteps(w, r, ref, after, after > 0 && len(known) > 0 && known[0].IsLast)
	return nil
}

// streamSteps writes the stream. done is true if the client already has the last step.
func (s *server) streamSteps(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef, after int, done bool) {
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
	if bytes.ContainsAny(data, "\r\n") { // within carried values; many readers expect one line
		data = rawjson.Compact(data)
	}
	return sse.AppendFrame(nil, "step", data, strconv.Itoa(step.N))
}

// endStream writes the frame that ends the stream, if the client is still there.
func (s *server) endStream(out *sse.Stream, w http.ResponseWriter, r *http.Request, done bool, err error) {
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

// lastEventID returns the number of the last step that the client has.
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
