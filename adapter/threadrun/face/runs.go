package face

import (
	"context"
	"net/http"
	"slices"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

var (
	runStatuses = []string{"pending", "running", "success", "error", "timeout", "interrupted"}
	apStatuses  = []string{"pending", "success", "error", "timeout", "interrupted"}
	runKeys     = []string{"run_id", "thread_id", "assistant_id", "agent_id", "metadata", "status", "kwargs", "multitask_strategy", "created_at", "updated_at", "error"}
)

// start reads a request for a run and starts it; the answer's headers are set.
// tail is what a client that lost the answer may GET below the run's path.
func (s *server) start(w http.ResponseWriter, r *http.Request, tail string) (*runRequest, adapter.Started, error) {
	thread := ""
	if !isStateless(r) {
		var err error
		if thread, err = threadOf(r); err != nil {
			return nil, adapter.Started{}, err
		}
	}
	q, err := s.readRun(w, r, thread)
	if err != nil {
		return nil, adapter.Started{}, err
	}
	started, err := s.svc.Runs.Start(r.Context(), q.take())
	if err != nil {
		return nil, adapter.Started{}, err
	}
	startedHeaders(w.Header(), q, started, tail)
	return q, started, nil
}

// startedHeaders say where the run is. SDKs take both ids out of
// Content-Location with a greedy pattern, so nothing may follow the run's id;
// Location is a path they GET to go on after a broken connection.
func startedHeaders(h http.Header, q *runRequest, st adapter.Started, tail string) {
	at := "/runs/" + st.Run.ID
	if !q.stateless {
		at = "/threads/" + st.Run.ThreadID + at
	}
	h.Set("Content-Location", at)
	if tail != "" {
		h.Set("Location", at+"/"+tail)
	}
	if len(st.Losses) > 0 {
		h.Set("X-Apbridge-Lossy", mapping.LossHeader(st.Losses))
	}
}

func (s *server) createRunThread(w http.ResponseWriter, r *http.Request) error {
	return s.createRun(w, r)
}

func (s *server) createRunStateless(w http.ResponseWriter, r *http.Request) error {
	return s.createRun(w, r)
}

func (s *server) createRun(w http.ResponseWriter, r *http.Request) error {
	q, started, err := s.start(w, r, "")
	if err != nil {
		return err
	}
	replyRun(w, asCreated(started.Run), q.ap())
	return nil
}

// asCreated: a run that was just made is pending to its maker, in either
// flavour, also when it has begun by now.
func asCreated(run mapping.Run) mapping.Run {
	if run.Status == mapping.RunRunning {
		run.Status = mapping.RunPending
	}
	return run
}

func replyRun(w http.ResponseWriter, run mapping.Run, ap bool) {
	a := newAnswer(w)
	encodeRun(&a.Writer, run, ap)
	a.end()
}

func (s *server) getRun(w http.ResponseWriter, r *http.Request) error   { return s.run(w, r, false) }
func (s *server) getRunAP(w http.ResponseWriter, r *http.Request) error { return s.run(w, r, true) }

func (s *server) run(w http.ResponseWriter, r *http.Request, ap bool) error {
	ref, err := refOf(r)
	if err != nil {
		return err
	}
	run, err := s.svc.Runs.Get(r.Context(), ref)
	if err != nil {
		return err
	}
	replyRun(w, run, ap)
	return nil
}

func (s *server) deleteRun(w http.ResponseWriter, r *http.Request) error {
	ref, err := refOf(r)
	if err != nil {
		return err
	}
	if err := s.svc.Runs.Delete(r.Context(), ref); err != nil {
		return err
	}
	noContent(w)
	return nil
}

func (s *server) listRuns(w http.ResponseWriter, r *http.Request) error {
	thread, err := threadOf(r)
	if err != nil {
		return err
	}
	q := queryOf(r)
	p := q.page(10)
	status := q.enum("status", runStatuses...)
	set, err := selection(q.texts("select"), runKeys...)
	if err := firstOf(q.err(), err); err != nil {
		return err
	}
	list, err := s.svc.RunIndex.List(r.Context(), adapter.RunQuery{
		ThreadID: thread, Status: mapping.RunStatus(status), Limit: p.limit, Offset: p.offset,
	})
	if err != nil {
		return err
	}
	replyRuns(w, list, false, set)
	return nil
}

func replyRuns(w http.ResponseWriter, list []mapping.Run, ap bool, set fieldSet) {
	a := newAnswer(w)
	a.Open('[')
	for _, run := range list {
		if len(set) == 0 {
			encodeRun(&a.Writer, run, ap)
		} else {
			var one rawjson.Writer
			encodeRun(&one, run, ap)
			set.pick(&a.Writer, one.Bytes)
		}
		if a.spill() != nil {
			return // the client has gone
		}
	}
	a.Close(']')
	a.end()
}

// searchRuns is the Agent Protocol's search.
func (s *server) searchRuns(w http.ResponseWriter, r *http.Request) error {
	o, err := s.request(w, r, false)
	if err != nil {
		return err
	}
	p := o.page(10)
	q := adapter.RunQuery{
		ThreadID: o.uuid("thread_id"), Agent: o.text("agent_id"), Metadata: o.object("metadata"),
		Status: mapping.RunStatus(o.enum("status", apStatuses...)), Limit: p.limit, Offset: p.offset,
	}
	if err := o.err(); err != nil {
		return err
	}
	list, err := s.findRuns(r.Context(), q)
	if err != nil {
		return err
	}
	replyRuns(w, list, true, nil)
	return nil
}

// findRuns lists runs as the Agent Protocol counts them: its "pending" are the
// pending and the running ones.
func (s *server) findRuns(ctx context.Context, q adapter.RunQuery) ([]mapping.Run, error) {
	if q.Status != mapping.RunPending {
		return s.svc.RunIndex.List(ctx, q)
	}
	limit, offset := q.Limit, q.Offset
	q.Limit, q.Offset = limit+offset, 0
	var all []mapping.Run
	for _, st := range []mapping.RunStatus{mapping.RunPending, mapping.RunRunning} {
		q.Status = st
		list, err := s.svc.RunIndex.List(ctx, q)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	slices.SortStableFunc(all, func(a, b mapping.Run) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return all[min(offset, len(all)):min(limit+offset, len(all))], nil
}
