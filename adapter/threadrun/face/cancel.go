package face

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/threadrun/face/request"
	"github.com/apbridge/apbridge/mapping"
)

// cancelRun responds with 204 if it has waited for the run's end, and otherwise with 202.
func (s *server) cancelRun(w http.ResponseWriter, r *http.Request) error {
	waited, err := s.cancelRunOfPath(r)
	if err != nil {
		return err
	}
	if waited {
		noContent(w)
	} else {
		w.WriteHeader(http.StatusAccepted)
	}
	return nil
}

func (s *server) cancelRunAP(w http.ResponseWriter, r *http.Request) error {
	if _, err := s.cancelRunOfPath(r); err != nil {
		return err
	}
	noContent(w)
	return nil
}

// cancelRunOfPath cancels the run in the path. It returns no error if the run has already ended.
func (s *server) cancelRunOfPath(r *http.Request) (waited bool, err error) {
	ref, err := refOf(r)
	if err != nil {
		return false, err
	}
	q := request.QueryOf(r)
	opt := cancelOptionsOf(q)
	opt.Wait = q.Flag("wait")
	if err := q.Err(); err != nil {
		return false, err
	}
	err = s.svc.CancelRun(r.Context(), ref, opt)
	if isClass(err, mapping.Conflict) {
		err = nil
	}
	return opt.Wait, err
}

// cancelOptionsOf reads action and reason. A reason cannot be combined with a rollback, which leaves no run to record
// it.
func cancelOptionsOf(q *request.Query) (opt adapter.CancelOptions) {
	opt.Rollback = q.Enum("action", "interrupt", "rollback") == "rollback"
	if q.Enum("reason", "taken") == "" {
		return opt
	}
	if opt.Reason = mapping.CancelledAsTaken; opt.Rollback {
		q.Refuse("reason", "can only be taken with action=interrupt")
	}
	return opt
}

// cancelRuns cancels the named runs, or all runs with a status. As on LangGraph Server, a request must not have both:
// one of them would be ignored, and a status alone may select all runs.
func (s *server) cancelRuns(w http.ResponseWriter, r *http.Request) error {
	o, err := s.request(w, r, true)
	if err != nil {
		return err
	}
	q := request.QueryOf(r)
	opt := cancelOptionsOf(q)
	thread, ids := o.UUID("thread_id"), o.Texts("run_ids")
	status := o.Enum("status", "pending", "running", "all")
	if status == "" && (thread == "" || len(ids) == 0) {
		o.Refuse("run_ids", "and thread_id are required, or status")
	}
	if status != "" && len(ids) > 0 {
		o.Refuse("status", "cannot be combined with run_ids: send the ids of the runs or their status")
	}
	for i, id := range ids {
		if ids[i] = strings.ToLower(id); !mapping.IsUUID(ids[i]) {
			o.Refuse("run_ids", "must be a list of UUIDs")
		}
	}
	if err := cmp.Or(o.Err(), q.Err()); err != nil {
		return err
	}
	named := len(ids) > 0
	if !named {
		if ids, err = s.activeRuns(r.Context(), thread, status); err != nil {
			return err
		}
	}
	if err := s.cancelEach(r.Context(), thread, ids, opt); err != nil && (named || !isNotFound(err)) {
		return err
	}
	noContent(w)
	return nil
}

func (s *server) activeRuns(ctx context.Context, thread, status string) ([]string, error) {
	var ids []string
	for _, st := range []mapping.RunStatus{mapping.RunPending, mapping.RunRunning} {
		if status != "all" && status != string(st) {
			continue
		}
		some, err := s.runIDs(ctx, mapping.RunQuery{ThreadID: thread, Status: []mapping.RunStatus{st}})
		if err != nil {
			return nil, err
		}
		ids = append(ids, some...)
	}
	return ids, nil
}

// runIDs returns the ids of all runs that match a query.
func (s *server) runIDs(ctx context.Context, q mapping.RunQuery) (ids []string, err error) {
	for run, err := range s.svc.ListRuns(ctx, q) {
		if err != nil {
			return nil, err
		}
		ids = append(ids, run.ID)
	}
	return ids, nil
}

// cancelEach cancels the runs. If a run does not exist, it cancels the others and then returns NotFound.
func (s *server) cancelEach(ctx context.Context, thread string, ids []string, opt adapter.CancelOptions) (gone error) {
	for _, id := range ids {
		err := s.svc.CancelRun(ctx, adapter.RunRef{ThreadID: thread, RunID: id}, opt)
		switch {
		case err == nil || isClass(err, mapping.Conflict):
		case isNotFound(err):
			gone = err
		default:
			return err
		}
	}
	return gone
}
