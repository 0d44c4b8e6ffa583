package face

import (
	"context"
	"iter"
	"net/http"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/gorilla/mux"
)

const lossHeader = "X-Apbridge-Unsupported"

// steps answers for steps: one that is asked for, and those that were.
type steps struct{ *server }

// execute is executeAgentTaskStep. It may take as long as the agent does, and sends nothing before: a status cannot be
// taken back. A run that failed is a step like any other, with additional_output.error.
//
// The hand-out is confirmed only when the whole answer went out to a client that was still there, so that a lost answer
// is given again.
func (s steps) execute(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
	req, err := s.readRequest(w, r)
	if err != nil {
		return err
	}
	retries, said, err := adapter.Retries(r.Header.Values(adapter.RetriesHeader))
	if err != nil {
		return mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "%s.", err)
	}
	out, err := s.svc.ExecuteStep(r.Context(), ref, adapter.StepRequest{
		Retries: retries, RetriesSaid: said,
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

// list is listAgentTaskSteps, and with stream=true our event stream.
func (s steps) list(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
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
		return s.follow(w, r, ref)
	}
	return list(s.server, w, r, "steps", func(ctx context.Context, p adapter.Page) (iter.Seq2[mapping.Step, error], int, error) {
		return short(s.svc.ListSteps(ctx, ref, p))
	}, s.layout(ref).step)
}

// get is getAgentTaskStep.
func (s steps) get(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
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
