package face

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/threadrun/face/render"
	"github.com/apbridge/apbridge/adapter/threadrun/face/request"
	"github.com/apbridge/apbridge/adapter/threadrun/face/selection"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// Only LangGraph's dialect has crons. Source: CronsClient of the LangGraph SDKs, and their type Cron.

var (
	cronKeys = []string{
		"cron_id", "assistant_id", "thread_id", "on_run_completed", "end_time", "schedule", "timezone", "created_at", "updated_at",
		"payload", "user_id", "next_run_date", "metadata", "enabled", "now",
	}
)

var cronSorts = []request.Sort{
	{Word: "cron_id", By: mapping.SortByID}, {Word: "assistant_id", By: mapping.SortByAssistant}, {Word: "thread_id", By: mapping.SortByThread},
	{Word: "created_at", By: mapping.SortByCreated}, {Word: "updated_at", By: mapping.SortByUpdated}, {Word: "next_run_date", By: mapping.SortByTick},
}

func (s *server) createCron(w http.ResponseWriter, r *http.Request) error {
	return s.addCron(w, r, "")
}

func (s *server) createCronOnThread(w http.ResponseWriter, r *http.Request) error {
	thread, err := threadOf(r)
	if err != nil {
		return err
	}
	return s.addCron(w, r, thread)
}

func (s *server) addCron(w http.ResponseWriter, r *http.Request, thread string) error {
	o, err := s.request(w, r, true)
	if err != nil {
		return err
	}
	n := readCronBody(o, thread)
	n.Run.IdempotencyKey = r.Header.Get(adapter.IdempotencyKeyHeader)
	if err := o.Err(); err != nil {
		return err
	}
	c, err := s.svc.CreateCron(r.Context(), n)
	if err != nil {
		return err
	}
	replyCron(w, c)
	return nil
}

// readCronBody reads a request for a cron, which is a request for its runs with a schedule.
func readCronBody(o *request.Fields, thread string) adapter.CronRequest {
	q := readRunBody(o, thread)
	n := adapter.CronRequest{
		Run: q.RunRequest, Payload: payloadOf(o), Schedule: o.Name("schedule"), Timezone: o.Name("timezone"),
		Enabled: o.Flag("enabled", true), End: momentOf(o, "end_time"), Keep: keepsThreads(o, q),
	}
	n.Run.ThreadID = thread
	o.Needed("schedule", nil)
	if o.Get("thread_id") != nil {
		o.Refuse("thread_id", "is part of the path: POST /threads/{thread_id}/runs/crons")
	}
	return n
}

// keepsThreads reports whether the threads of a cron's runs are kept. The thread of a cron that was created on a thread
// is always kept.
func keepsThreads(o *request.Fields, q *runRequest) bool {
	switch done := o.Enum("on_run_completed", "delete", "keep"); {
	case done == "delete" && !q.stateless:
		o.Refuse("on_run_completed", "can only be delete for crons without a thread in their path")
		return false
	case done == "":
		return !q.stateless || o.Get("on_completion") != nil && !q.DeleteAfter
	default:
		return done == "keep"
	}
}

// payloadOf returns the members that belong to the request for a run, as they were sent.
func payloadOf(o *request.Fields) json.RawMessage {
	e := rawjson.Writer{Bytes: make([]byte, 0, 64)}
	e.Open('{')
	for _, m := range o.Members() {
		if slices.Contains(runFields, m.Name) {
			e.Key(m.Name).Raw(m.Value, "null")
		}
	}
	return e.Close('}').Bytes
}

// momentOf reads an ISO 8601 time. Without an offset it is in UTC, like Python's isoformat of a naive time.
func momentOf(o *request.Fields, name string) time.Time {
	s := o.Text(name)
	if s == "" {
		return time.Time{}
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02T15:04", time.DateOnly, "2006-01-02 15:04:05.999999999Z07:00"} {
		if at, err := time.Parse(layout, s); err == nil {
			return at.UTC()
		}
	}
	o.Refuse(name, "must be an ISO 8601 time, like 2030-01-31T08:00:00Z")
	return time.Time{}
}

func (s *server) getCron(w http.ResponseWriter, r *http.Request) error {
	id, err := pathUUID(r, "cron_id")
	if err != nil {
		return err
	}
	c, err := s.svc.GetCron(r.Context(), id)
	if err != nil {
		return err
	}
	replyCron(w, c)
	return nil
}

// patchCron merges the request into the stored one and reads the result. null removes a field.
func (s *server) patchCron(w http.ResponseWriter, r *http.Request) error {
	id, err := pathUUID(r, "cron_id")
	if err != nil {
		return err
	}
	o, err := s.request(w, r, true)
	if err != nil {
		return err
	}
	for _, name := range []string{"assistant_id", "agent_id", "thread_id"} {
		if o.Get(name) != nil {
			o.Refuse(name, "cannot be changed; create another cron")
		}
	}
	if err := o.ErrSoFar(); err != nil { // other members are read after they are merged
		return err
	}
	c, err := s.svc.GetCron(r.Context(), id)
	if err != nil {
		return err
	}
	if err := completeFrom(o, c); err != nil {
		return err
	}
	n := readCronBody(o, c.ThreadID)
	if err := o.Err(); err != nil {
		return err
	}
	if c, err = s.svc.UpdateCron(r.Context(), id, n); err != nil {
		return err
	}
	replyCron(w, c)
	return nil
}

// completeFrom adds members of the stored cron that are missing in the request. Every cron has a schedule, so null
// keeps the current one.
func completeFrom(o *request.Fields, c mapping.Cron) error {
	o.Remove(func(m rawjson.Member) bool { return m.Name == "schedule" && rawjson.Kind(m.Value) == 'n' })
	was, err := rawjson.Members(c.Payload)
	if err != nil {
		return err
	}
	var e rawjson.Writer
	e.Open('{').Key("schedule").Text(c.Schedule).Key("enabled").Bool(c.Enabled)
	if c.Timezone != "" {
		e.Key("timezone").Text(c.Timezone)
	}
	if !c.End.IsZero() {
		e.Key("end_time").Text(c.End.Format(time.RFC3339Nano))
	}
	if c.ThreadID == "" {
		e.Key("on_run_completed").Text(onRunCompleted(c))
	}
	clock, err := rawjson.Members(e.Close('}').Bytes)
	if err != nil {
		return err
	}
	for _, m := range append(was, clock...) {
		if o.Sent(m.Name) == nil {
			o.Add(m)
		}
	}
	return nil
}

func onRunCompleted(c mapping.Cron) string {
	if c.Keep {
		return "keep"
	}
	return "delete"
}

func (s *server) deleteCron(w http.ResponseWriter, r *http.Request) error {
	id, err := pathUUID(r, "cron_id")
	if err != nil {
		return err
	}
	if err := s.svc.DeleteCron(r.Context(), id); err != nil {
		return err
	}
	noContent(w)
	return nil
}

func cronQuery(o *request.Fields) adapter.CronQuery {
	q := adapter.CronQuery{Agent: o.Text("assistant_id"), ThreadID: o.UUID("thread_id"), Metadata: o.Object("metadata")}
	if o.Get("enabled") != nil {
		on := o.Flag("enabled", false)
		q.Enabled = &on
	}
	return q
}

func (s *server) searchCrons(w http.ResponseWriter, r *http.Request) error {
	o, err := s.request(w, r, false)
	if err != nil {
		return err
	}
	q, p := cronQuery(o), request.PageOf(o, 10)
	q.SortBy, q.Asc = request.SortOf(o, cronSorts...)
	q.Limit, q.Offset = p.Limit, p.Offset
	set, err := selection.Of(o.Texts("select"), cronKeys...)
	if err := cmp.Or(o.Err(), err); err != nil {
		return err
	}
	list, total, err := s.svc.SearchCrons(r.Context(), q)
	if err != nil {
		return err
	}
	paginate(w, p, len(list), total)
	var e rawjson.Writer
	e.Open('[')
	for _, c := range list {
		var one rawjson.Writer
		encodeCron(&one, c, set["now"])
		set.Pick(&e, one.Bytes)
	}
	reply(w, http.StatusOK, e.Close(']').Bytes)
	return nil
}

func (s *server) countCrons(w http.ResponseWriter, r *http.Request) error {
	return count(s, w, r, cronQuery, func(ctx context.Context, q adapter.CronQuery) (int, error) {
		q.Limit = 1
		_, total, err := s.svc.SearchCrons(ctx, q)
		return total, err
	})
}

func replyCron(w http.ResponseWriter, c mapping.Cron) {
	var e rawjson.Writer
	encodeCron(&e, c, false)
	reply(w, http.StatusOK, e.Bytes)
}

// encodeCron writes a cron. user_id is the principal that created it. If now is true, the current time is added, as the
// client requested.
func encodeCron(e *rawjson.Writer, c mapping.Cron, now bool) {
	e.Open('{').Key("cron_id").Text(c.ID).Key("assistant_id").Text(c.AssistantID)
	e.Key("thread_id").OrNull(c.ThreadID)
	if c.ThreadID == "" {
		e.Key("on_run_completed").Text(onRunCompleted(c))
	}
	e.Key("end_time").Time(c.End, render.TimeLayout).Key("schedule").Text(c.Schedule).Key("timezone").OrNull(c.Timezone)
	e.Key("created_at").Time(c.CreatedAt, render.TimeLayout).Key("updated_at").Time(c.UpdatedAt, render.TimeLayout)
	e.Key("payload").Raw(c.Payload, "{}").Key("user_id").OrNull(c.Owner)
	e.Key("next_run_date").Time(c.Next, render.TimeLayout).Key("metadata").Raw(c.Metadata, "{}").Key("enabled").Bool(c.Enabled)
	if now {
		e.Key("now").Time(time.Now(), render.TimeLayout)
	}
	e.Close('}')
}
