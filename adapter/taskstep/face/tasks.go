package face

import (
	"context"
	"net/http"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

const idempotencyKey = "Idempotency-Key"

// createTask is createAgentTask.
func (s *server) createTask(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
	req, err := s.readRequest(w, r)
	if err != nil {
		return err
	}
	task, err := s.svc.Tasks.Create(r.Context(), adapter.NewTask{
		Agent:           ref.Agent,
		Topic:           ref.Topic,
		Input:           req.Input,
		AdditionalInput: req.AdditionalInput,
		IdempotencyKey:  r.Header.Get(idempotencyKey),
	})
	if err != nil {
		return err
	}
	_ = send(w, s.style.created, written(s.layout(ref).task, &task))
	return nil
}

// getTask is getAgentTask.
func (s *server) getTask(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
	task, err := s.svc.Tasks.Get(r.Context(), ref)
	if err != nil {
		return err
	}
	_ = send(w, http.StatusOK, written(s.layout(ref).task, &task))
	return nil
}

// listTasks is listAgentTasks.
func (s *server) listTasks(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
	return list(w, r, "tasks", func(ctx context.Context, p adapter.Page) ([]mapping.Task, int, error) {
		return s.svc.Tasks.List(ctx, ref, p)
	}, s.layout(ref).task)
}

// cancelTask is an extension of ours: it stops what the task is doing. A body
// is ignored.
func (s *server) cancelTask(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
	task, err := s.svc.Tasks.Cancel(r.Context(), ref)
	if err != nil {
		return err
	}
	_ = send(w, http.StatusOK, written(s.layout(ref).task, &task))
	return nil
}
