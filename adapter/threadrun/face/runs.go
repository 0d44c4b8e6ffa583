package face

import (
	"fmt"
	"iter"
	"net/http"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/threadrun/face/render"
	"github.com/apbridge/apbridge/adapter/threadrun/face/request"
	"github.com/apbridge/apbridge/adapter/threadrun/face/selection"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

var (
	runStatuses = []string{"pending", "running", "success", "error", "timeout", "interrupted"}
	apStatuses  = []string{"pending", "success", "error", "timeout", "interrupted"}
	runKeys     = []string{"run_id", "thread_id", "assistant_id", "agent_id", "metadata", "status", "kwargs", "multitask_strategy", "created_at", "updated_at", "error", "cancel_reason"}
)

// startRun reads a request for a run, starts the run and sets the response headers. tail is the path below the run that
// a client can GET if the response is lost.
func (s *server) startRun(w http.ResponseWriter, r *http.Request, tail string) (*runRequest, *adapter.Started, error) {
	thread := ""
	if !isStateless(r) {
		var err error
		if thread, err = threadOf(r); err != nil {
			return nil, nil, err
		}
	}
	q, err := s.readRun(w, r, thread)
	if err != nil {
		return nil, nil, err
	}
	started, err := s.svc.StartRun(r.Context(), q.take())
	if err != nil {
		return nil, nil, err
	}
	startedHeaders(w.Header(), q, started, tail)
	return q, started, nil
}

// startedHeaders sets the paths of a run. SDKs find both ids in Content-Location with a greedy pattern, so it must end
// with the run's id. They send a GET to Location to continue after a broken connection.
func startedHeaders(h http.Header, q *runRequest, st *adapter.Started, tail string) {
	at := "/runs/" + st.Run.ID
	if !q.stateless {
		at = "/threads/" + st.Run.ThreadID + at
	}
	h.Set("Content-Location", at)
	if tail != "" {
		h.Set("Location", at+"/"+tail)
	}
	if len(st.Losses) > 0 {
		h.Set("X-Apbridge-Unsupported", mapping.LossHeader(st.Losses))
	}
}

func (s *server) createRun(w http.ResponseWriter, r *http.Request) error {
	q, started, err := s.startRun(w, r, "")
	if err != nil {
		return err
	}
	run := asCreated(started.Run)
	replyRun(w, &run, q.ap())
	return nil
}

// asCreated returns the run as its creator sees it: pending, even if it has already begun.
func asCreated(run mapping.Run) mapping.Run {
	if run.Status == mapping.RunRunning {
		run.Status = mapping.RunPending
	}
	return run
}

func replyRun(w http.ResponseWriter, run *mapping.Run, ap bool) {
	a := newAnswer(w)
	render.Run(&a.Writer, run, ap)
	a.sendRest()
}

func (s *server) getRun(w http.ResponseWriter, r *http.Request) error { return s.serveRun(w, r, false) }
func (s *server) getRunAP(w http.ResponseWriter, r *http.Request) error {
	return s.serveRun(w, r, true)
}

func (s *server) serveRun(w http.ResponseWriter, r *http.Request, ap bool) error {
	ref, err := refOf(r)
	if err != nil {
		return err
	}
	run, err := s.svc.GetRun(r.Context(), ref)
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
	if err := s.svc.DeleteRun(r.Context(), ref); err != nil {
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
	q := request.QueryOf(r)
	p := request.PageOf(q, 10)
	status := q.Enum("status", runStatuses...)
	set, err := selection.Of(q.Texts("select"), runKeys...)
	if err := firstOf(q.Err(), err); err != nil {
		return err
	}
	list := s.svc.ListRuns(r.Context(), mapping.RunQuery{
		ThreadID: thread, Status: oneStatus(status), Limit: p.Limit, Offset: p.Offset,
	})
	return s.replyRuns(w, r, list, false, set)
}

func oneStatus(status string) []mapping.RunStatus {
	if status == "" {
		return nil
	}
	return []mapping.RunStatus{mapping.RunStatus(status)}
}

func (s *server) replyRuns(w http.ResponseWriter, r *http.Request, list iter.Seq2[mapping.Run, error], ap bool, set selection.Set) error {
	a := newAnswer(w)
	a.Open('[')
	for run, err := range list {
		if err != nil {
			return s.breakOff(a, r, err)
		}
		if len(set) == 0 {
			render.Run(&a.Writer, &run, ap)
		} else {
			var one rawjson.Writer
			render.Run(&one, &run, ap)
			set.Pick(&a.Writer, one.Bytes)
		}
		if a.spill() != nil {
			return nil // the client has gone
		}
	}
	a.Close(']')
	a.sendRest()
	return nil
}

// searchRuns serves the Agent Protocol's search.
func (s *server) searchRuns(w http.ResponseWriter, r *http.Request) error {
	o, err := s.request(w, r, false)
	if err != nil {
		return err
	}
	p := request.PageOf(o, 10)
	q := mapping.RunQuery{
		ThreadID: o.UUID("thread_id"), Agent: o.Text("agent_id"), Metadata: o.Object("metadata"),
		Status: protocolStatus(o.Enum("status", apStatuses...)), Limit: p.Limit, Offset: p.Offset,
	}
	if err := o.Err(); err != nil {
		return err
	}
	return s.replyRuns(w, r, s.svc.ListRuns(r.Context(), q), true, nil)
}

// protocolStatus returns the statuses that correspond to an Agent Protocol status. Its "pending" includes running runs.
func protocolStatus(status string) []mapping.RunStatus {
	if status == string(mapping.RunPending) {
		return []mapping.RunStatus{mapping.RunPending, mapping.RunRunning}
	}
	return oneStatus(status)
}

// createRuns starts several stateless runs. If one request is invalid, none is started.
func (s *server) createRuns(w http.ResponseWriter, r *http.Request) error {
	raw, err := s.readBody(w, r)
	if err != nil {
		return err
	}
	batch, err := s.readBatch(raw, r.Header)
	if err != nil {
		return err
	}
	list := make([]adapter.RunRequest, len(batch))
	for i, q := range batch {
		list[i] = *q.take()
	}
	started, err := s.svc.StartRuns(r.Context(), list)
	if err != nil {
		return err
	}
	runs := make([]mapping.Run, len(started))
	for i, st := range started {
		runs[i] = asCreated(st.Run)
	}
	return s.replyRuns(w, r, adapter.List(runs), false, nil)
}

const maxBatch = 1000

func (s *server) readBatch(raw []byte, h http.Header) ([]*runRequest, error) {
	// The list is wrapped in an object so that the parser of objects checks it.
	wrapped := new(rawjson.Writer).Open('{')
	if raw != nil {
		wrapped.Key("batch").Raw(raw, "null")
	}
	depth := s.face.Limits.MaxJSONDepth
	if depth > 0 {
		depth++
	}
	o, err := request.Parse(wrapped.Close('}').Bytes, depth)
	if err != nil {
		return nil, err
	}
	list := rawjson.ElementsOf(o.List("batch"))
	if err := o.Err(); err != nil {
		return nil, err
	}
	if len(list) == 0 || len(list) > maxBatch || len(o.Members()) != 1 {
		return nil, mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "The request body must be a list of 1 to %d runs.", maxBatch)
	}
	// Unknown members are not reported: createBatch of LangGraph's JavaScript SDK also sends its own arguments, such as
	// streamMode.
	var batch []*runRequest
	for i, one := range list {
		if run := o.Element("batch", i, one); run != nil {
			q := readRunBody(run, "")
			q.Retries, q.RetriesSet = retriesOf(run, h)
			q.IdempotencyKey, q.Batch = h.Get(adapter.IdempotencyKeyHeader), fmt.Sprintf("%d/%d", i, len(list))
			batch = append(batch, q)
		}
	}
	return batch, o.Err()
}

// explainRun reports why a run is waiting, running or failed. It is an extension of this bridge.
func (s *server) explainRun(w http.ResponseWriter, r *http.Request) error {
	ref, err := refOf(r)
	if err != nil {
		return err
	}
	why, err := s.svc.ExplainRun(r.Context(), ref)
	if err != nil {
		return err
	}
	if why.Reason == adapter.ReasonQuestion { // in the terms of this face
		why.Message = "It is waiting for an answer. Start a run with command.resume on its thread, or request the next step of its task."
	}
	return replyJSON(w, why)
}
