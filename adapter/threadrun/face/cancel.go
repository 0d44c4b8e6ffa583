package face

import (
	"context"
	"net/http"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// cancelRunThread answers 202 when the run may still be ending, and 204 when
// it was waited for.
func (s *server) cancelRunThread(w http.ResponseWriter, r *http.Request) error {
	waited, err := s.cancelRun(r)
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
	if _, err := s.cancelRun(r); err != nil {
		return err
	}
	noContent(w)
	return nil
}

// cancelRun is the same for both. A run that has ended already is as the
// client wants it.
func (s *server) cancelRun(r *http.Request) (waited bool, err error) {
	ref, err := refOf(r)
	if err != nil {
		return false, err
	}
	q := queryOf(r)
	opt := adapter.CancelOptions{Wait: q.flag("wait"), Rollback: q.enum("action", "interrupt", "rollback") == "rollback"}
	if err := q.err(); err != nil {
		return false, err
	}
	err = s.svc.Runs.Cancel(r.Context(), ref, opt)
	if isClass(err, mapping.Conflict) {
		err = nil
	}
	return opt.Wait, err
}

// cancelMany cancels the named runs, or all with a status.
func (s *server) cancelMany(w http.ResponseWriter, r *http.Request) error {
	o, err := s.request(w, r, true)
	if err != nil {
		return err
	}
	q := queryOf(r)
	opt := adapter.CancelOptions{Rollback: q.enum("action", "interrupt", "rollback") == "rollback"}
	thread, ids := o.uuid("thread_id"), o.texts("run_ids")
	status := o.enum("status", "pending", "running", "all")
	if status == "" && (thread == "" || len(ids) == 0) {
		o.complain("run_ids", "and thread_id are needed, or a status")
	}
	for i, id := range ids {
		if ids[i] = strings.ToLower(id); !mapping.IsUUID(ids[i]) {
			o.complain("run_ids", "must be a list of UUIDs")
		}
	}
	if err := firstOf(o.err(), q.err()); err != nil {
		return err
	}
	if ids == nil {
		if ids, err = s.activeRuns(r.Context(), thread, status); err != nil {
			return err
		}
	}
	if err := s.cancelAll(r.Context(), thread, ids, opt); err != nil {
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
		some, err := s.runsIn(ctx, adapter.RunQuery{ThreadID: thread, Status: st, Limit: 1000})
		if err != nil {
			return nil, err
		}
		ids = append(ids, some...)
	}
	return ids, nil
}

// runsIn are the ids of all runs that a query finds, page by page.
func (s *server) runsIn(ctx context.Context, q adapter.RunQuery) (ids []string, err error) {
	for {
		list, err := s.svc.RunIndex.List(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, run := range list {
			ids = append(ids, run.ID)
		}
		if len(list) < q.Limit {
			return ids, nil
		}
		q.Offset += q.Limit
	}
}

func (s *server) cancelAll(ctx context.Context, thread string, ids []string, opt adapter.CancelOptions) error {
	for _, id := range ids {
		err := s.svc.Runs.Cancel(ctx, adapter.RunRef{ThreadID: thread, RunID: id}, opt)
		if err != nil && !isClass(err, mapping.Conflict) {
			return err
		}
	}
	return nil
}
