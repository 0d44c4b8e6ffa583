package face

import (
	"context"
	"iter"
	"net/http"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// tasks answers for tasks.
type tasks struct{ *server }

// create is createAgentTask.
func (s tasks) create(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
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

// get is getAgentTask.
func (s tasks) get(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
	task, err := s.svc.GetTask(r.Context(), ref)
	if err != nil {
		return err
	}
	_ = send(w, http.StatusOK, written(s.layout(ref).task, &task))
	return nil
}

// list is listAgentTasks.
func (s tasks) list(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
	return list(s.server, w, r, "tasks", func(ctx context.Context, p adapter.Page) (iter.Seq2[mapping.Task, error], int, error) {
		return s.svc.ListTasks(ctx, ref, p)
	}, s.layout(ref).task)
}

// cancel is an extension of ours: it stops what the task is doing. A body is ignored.
func (s tasks) cancel(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error {
	task, err := s.svc.CancelTask(r.Context(), ref)
	if err != nil {
		return err
	}
	_ = send(w, http.StatusOK, written(s.layout(ref).task, &task))
	return nil
}
