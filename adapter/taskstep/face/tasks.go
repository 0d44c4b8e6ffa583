package face

import (
	"context"
	"iter"
	"net/http"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// createTask serves the operation createAgentTask.
func (s *server) createTask(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
	req, err := s.readRequest(w, r)
	if err != nil {
		return err
	}
	ignoreOwn(w.Header(), req.AdditionalInput)
	task, err := s.svc.CreateTask(r.Context(), adapter.TaskRequest{
		Agent:           ref.Agent,
		Topic:           ref.Topic,
		Input:           req.Input,
		AdditionalInput: req.AdditionalInput,
		IdempotencyKey:  r.Header.Get(adapter.IdempotencyKeyHeader),
	})
	if err != nil {
		return err
	}
	_ = send(w, s.style.created, written(s.layout(ref).task, &task))
	return nil
}

// getTask serves the operation getAgentTask.
func (s *server) getTask(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
	task, err := s.svc.GetTask(r.Context(), ref)
	if err != nil {
		return err
	}
	_ = send(w, http.StatusOK, written(s.layout(ref).task, &task))
	return nil
}

// listTasks serves the operation listAgentTasks.
func (s *server) listTasks(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
	return list(s, w, r, "tasks", func(ctx context.Context, p adapter.Page) (iter.Seq2[mapping.Task, error], int, error) {
		return s.svc.ListTasks(ctx, ref, p)
	}, s.layout(ref).task)
}

// cancelTask stops a task. It is an extension of the protocol and ignores a body.
func (s *server) cancelTask(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
	task, err := s.svc.CancelTask(r.Context(), ref)
	if err != nil {
		return err
	}
	_ = send(w, http.StatusOK, written(s.layout(ref).task, &task))
	return nil
}
