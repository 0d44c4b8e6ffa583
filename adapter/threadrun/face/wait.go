package face

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/sse"
	"github.com/apbridge/apbridge/adapter/threadrun/face/render"
	"github.com/apbridge/apbridge/adapter/threadrun/face/request"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/gorilla/mux"
	"go.uber.org/zap"
)

func isStateless(r *http.Request) bool {
	_, ok := mux.Vars(r)["thread_id"]
	return !ok
}

func (s *server) createRunAndWait(w http.ResponseWriter, r *http.Request) error {
	q, started, err := s.startRun(w, r, "")
	if err != nil {
		return err
	}
	tail, shape := "join", bareValues
	if q.ap() {
		tail, shape = "wait", waitResponse
	}
	w.Header().Set("Location", w.Header().Get("Content-Location")+"/"+tail)
	return s.waitForRun(w, r, &started.Run, shape, q.cancel)
}

// joinRun responds with the values of a run that another request started.
func (s *server) joinRun(w http.ResponseWriter, r *http.Request) error {
	return s.joinRunAs(w, r, bareValues)
}

// joinRunAP serves the Agent Protocol's wait. joinRunWithStatus serves the one below a thread, whose response has the
// status at the top according to the protocol's README.
func (s *server) joinRunAP(w http.ResponseWriter, r *http.Request) error {
	return s.joinRunAs(w, r, waitResponse)
}

func (s *server) joinRunWithStatus(w http.ResponseWriter, r *http.Request) error {
	return s.joinRunAs(w, r, waitWithStatus)
}

func (s *server) joinRunAs(w http.ResponseWriter, r *http.Request, shape waitShape) error {
	ref, err := refOf(r)
	if err != nil {
		return err
	}
	q := request.QueryOf(r)
	cancel := q.Flag("cancel_on_disconnect")
	if err := cmp.Or(q.Err(), mayCancel(r, cancel)); err != nil {
		return err
	}
	run, err := s.svc.GetRun(readerContext(r, cancel), ref)
	if err != nil {
		return err
	}
	return s.waitForRun(w, r, run, shape, cancel)
}

// mayCancel returns an error if the reader lacks the right to cancel a run and cancel is true.
func mayCancel(r *http.Request, cancel bool) error {
	if !cancel {
		return nil
	}
	return mapping.PrincipalOf(r.Context()).Need(mapping.RightRun)
}

// readerContext returns the context for reading the run. If cancel is true, it does not end with the request, because
// the run still has to be found to be cancelled if the client has already disconnected.
func readerContext(r *http.Request, cancel bool) context.Context {
	if cancel {
		return context.WithoutCancel(r.Context())
	}
	return r.Context()
}

// waitShape is the format of the response to a wait.
type waitShape int

const (
	bareValues     waitShape = iota // values, __interrupt__ or __error__
	waitResponse                    // {run, values, messages}
	waitWithStatus                  // the same with a status at the top
)

// waitForRun waits for the run's end and responds with the result. If the client disconnects earlier, the run is
// cancelled only if cancel is true.
func (s *server) waitForRun(w http.ResponseWriter, r *http.Request, run *mapping.Run, shape waitShape, cancel bool) error {
	beat := &sse.KeepAlive{W: w, Type: "application/json"}
	defer beat.Stop() // nothing may be written after the handler has returned
	if shape == bareValues {
		beat.Start(s.waitBeat)
	}
	end, err := s.awaitEnd(r.Context(), run)
	if r.Context().Err() != nil {
		began := beat.Stop()
		s.cancelAbandoned(r.Context(), adapter.RunRef{ThreadID: run.ThreadID, RunID: run.ID}, cancel)
		stopping := adapter.Stopping(r.Context())
		if stopping != nil && began {
			panic(http.ErrAbortHandler) // the client would accept white space as a complete response
		}
		return stopping
	}
	if err != nil {
		if beat.Stop() {
			s.log.Warn("wait failed", zap.String("run", run.ID), zap.Error(err))
			_, _ = w.Write(errorObject(mapping.FaultOf(err)))
			return nil
		}
		return err
	}
	if beat.Stop() {
		_, _ = w.Write(bareBody(*end.Head.Outcome, end.After.JSON()))
		return nil
	}
	return replyWait(w, run, end, shape)
}

// awaitEnd waits for the run's end and returns its entry.
func (s *server) awaitEnd(ctx context.Context, run *mapping.Run) (*state.Entry, error) {
	ref := adapter.RunRef{ThreadID: run.ThreadID, RunID: run.ID}
	var last *state.Entry
	for e, err := range s.svc.RunEvents(ctx, ref, adapter.Cursor{K: -1, Start: true, End: true}, nil) {
		if err != nil {
			return nil, err
		}
		last = e
	}
	if last == nil || last.Kind != mapping.KindEnd || last.Head.Outcome == nil {
		return nil, mapping.Errorf(mapping.Unavailable, mapping.CodeShutdown, "The bridge is shutting down. The run continues; join it again.")
	}
	return last, nil
}

// cancelAbandoned cancels the run of a disconnected client if cancel is true. It does not if the bridge is shutting
// down, which ends requests with a different cause; the run then continues.
func (s *server) cancelAbandoned(ctx context.Context, ref adapter.RunRef, cancel bool) {
	if !cancel || ctx.Err() != nil && context.Cause(ctx) != context.Canceled {
		return
	}
	err := s.svc.CancelRun(context.WithoutCancel(ctx), ref, adapter.CancelOptions{Reason: mapping.CancelledOnDisconnect})
	if err != nil && !isClass(err, mapping.Conflict) && !isNotFound(err) {
		s.log.Warn("run of a disconnected client was not cancelled", zap.String("run", ref.RunID), zap.Error(err))
	}
}

// replyWait responds with the result of a run.
func replyWait(w http.ResponseWriter, run *mapping.Run, end *state.Entry, shape waitShape) error {
	out, a := *end.Head.Outcome, newAnswer(w)
	var err error
	switch {
	case shape != bareValues:
		err = a.waitResponse(ended(run, end), end, shape)
	case out.Fault == nil && !stopped(out):
		err = a.values(end.After)
	default:
		a.Bytes = bareBody(out, nil)
	}
	if err == nil {
		a.sendRest()
	}
	return nil // an error only means that the client has gone
}

func (a *answer) waitResponse(run *mapping.Run, end *state.Entry, shape waitShape) error {
	a.Open('{')
	if shape == waitWithStatus {
		a.Key("status").Text(render.RunStatus(run.Status, true))
	}
	a.Key("run")
	render.Run(&a.Writer, run, true)
	a.Key("values")
	if err := a.values(end.After); err != nil {
		return err
	}
	if messages := end.After.Messages(); messages != nil || end.After.Get("messages") != nil {
		if err := a.protocolMessages(messages); err != nil {
			return err
		}
	}
	if run.Status == mapping.RunInterrupted {
		a.Key("interrupts")
		rule.WriteInterrupts(&a.Writer, end.Head.Outcome.Interrupts)
	}
	a.Close('}')
	return nil
}

// ended returns the run with the result in its end event. Reading the run again would take a query, and the run may
// have been deleted.
func ended(run *mapping.Run, end *state.Entry) *mapping.Run {
	left := *run
	left.Status, left.Fault, left.CancelReason = end.Head.Outcome.Status, end.Head.Outcome.Fault, end.Head.Outcome.Reason
	left.Attempt = max(run.Attempt, end.Head.Attempt)
	if !end.At.IsZero() {
		left.EndedAt, left.UpdatedAt = end.At, end.At
	}
	return &left
}

func bareBody(out mapping.Outcome, values json.RawMessage) []byte {
	switch {
	case out.Fault != nil:
		return errorObject(out.Fault)
	case stopped(out):
		return render.InterruptObject(out.Interrupts)
	default:
		return values
	}
}

// stopped reports whether the run stopped with a question, or at a node of interrupt_before or interrupt_after.
func stopped(out mapping.Outcome) bool {
	return len(out.Interrupts) > 0 || out.Status == mapping.RunInterrupted && out.Reason == ""
}

func errorObject(f *mapping.Fault) []byte {
	var e rawjson.Writer
	return e.Open('{').Key("__error__").Raw(render.FaultObject(f), "{}").Close('}').Bytes
}
