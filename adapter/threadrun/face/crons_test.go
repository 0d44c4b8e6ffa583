package face

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/threadrun/face/render"
	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
)

func (f *fake) fill(c *mapping.Cron, n adapter.CronRequest) {
	c.ThreadID, c.Agent, c.AssistantID = n.Run.ThreadID, n.Run.Agent, mapping.AssistantID(n.Run.Agent)
	c.Schedule, c.Timezone, c.Enabled, c.Keep, c.End = n.Schedule, n.Timezone, n.Enabled, n.Keep, n.End
	c.Metadata, c.Payload = n.Run.Metadata, n.Payload
	c.Next = at.Add(time.Hour)
	f.lastCron = n
}

func (f *fake) CreateCron(_ context.Context, n adapter.CronRequest) (mapping.Cron, error) {
	f.note("crons.create")
	c := mapping.Cron{ID: f.newID(), CreatedAt: at, UpdatedAt: at}
	f.fill(&c, n)
	f.crons = append(f.crons, c)
	return c, nil
}

func (f *fake) GetCron(_ context.Context, id string) (mapping.Cron, error) {
	for _, c := range f.crons {
		if c.ID == id {
			return c, nil
		}
	}
	return mapping.Cron{}, notFound(mapping.CodeCronNotFound, "cron")
}

func (f *fake) SearchCrons(_ context.Context, q adapter.CronQuery) ([]mapping.Cron, int, error) {
	f.lastQuery = q
	return f.crons, len(f.crons), nil
}

func (f *fake) UpdateCron(ctx context.Context, id string, n adapter.CronRequest) (mapping.Cron, error) {
	c, err := f.GetCron(ctx, id)
	if err != nil {
		return c, err
	}
	f.note("crons.update")
	n.Run.ThreadID = c.ThreadID
	f.fill(&c, n)
	f.crons = []mapping.Cron{c}
	return c, nil
}

func (f *fake) DeleteCron(ctx context.Context, id string) error {
	_, err := f.GetCron(ctx, id)
	if err == nil {
		f.note("crons.delete")
		f.crons = nil
	}
	return err
}

func TestCronIsReadWhole(t *testing.T) {
	t.Parallel()
	f := newFake()
	srv := f.serve(t)
	// This is the request of the SDKs, with nulls as Python writes them.
	body := `{"schedule":"0 8 * * 1-5","timezone":"Europe/Berlin","end_time":"2030-01-31T08:00:00+01:00","enabled":false,"assistant_id":"graph",
 "input":{"messages":[]},"config":{"tags":["x"]},"context":{"a":1},"metadata":{"m":1},"webhook":"https://h.example/","multitask_strategy":"enqueue",
 "interrupt_before":["n"],"interrupt_after":"*","stream_mode":"values","on_run_completed":"keep","durability":null,"stream_resumable":null}`
	if got := send(t, "POST", srv.URL+"/runs/crons", body); got != 200 {
		t.Fatal(got)
	}
	n := f.lastCron
	want := adapter.CronRequest{Schedule: "0 8 * * 1-5", Timezone: "Europe/Berlin", Keep: true, End: time.Date(2030, 1, 31, 7, 0, 0, 0, time.UTC)}
	if d := cmp.Diff(want, adapter.CronRequest{Schedule: n.Schedule, Timezone: n.Timezone, Enabled: n.Enabled, Keep: n.Keep, End: n.End}); d != "" {
		t.Error(d)
	}
	r := n.Run
	if r.Agent != "graph" || r.ThreadID != "" || string(r.Input) != `{"messages":[]}` || string(r.Metadata) != `{"m":1}` || r.Webhook != "https://h.example/" ||
		r.Multitask != mapping.StrategyEnqueue || r.Flavour != render.FlavourLangGraph || len(r.InterruptBefore) != 1 || len(r.InterruptAfter) != 1 {
		t.Errorf("run %+v", r)
	}
	if p := string(n.Payload); strings.Contains(p, "schedule") || !strings.Contains(p, `"assistant_id":"graph"`) || !strings.Contains(p, `"context":{"a":1}`) {
		t.Errorf("payload %s", p)
	}
}

func TestCronIsPatched(t *testing.T) {
	t.Parallel()
	f := newFake()
	srv := f.serve(t)
	send(t, "POST", srv.URL+"/runs/crons", `{"schedule":"0 8 * * *","timezone":"Asia/Tokyo","end_time":"2030-01-01T00:00:00","assistant_id":"graph","input":{"a":1},"metadata":{"m":1},"on_run_completed":"keep"}`)
	path := srv.URL + "/runs/crons/" + f.crons[0].ID
	if got := send(t, "PATCH", path, `{"input":{"b":2},"enabled":false}`); got != 200 {
		t.Fatal(got)
	}
	n := f.lastCron
	if n.Enabled || n.Schedule != "0 8 * * *" || n.Timezone != "Asia/Tokyo" || !n.Keep || n.End.Year() != 2030 || string(n.Run.Input) != `{"b":2}` ||
		string(n.Run.Metadata) != `{"m":1}` || n.Run.Agent != "graph" {
		t.Errorf("%+v", n)
	}
	if got := send(t, "PATCH", path, `{"end_time":null,"timezone":null,"schedule":"@daily"}`); got != 200 {
		t.Fatal(got)
	}
	if n = f.lastCron; n.Enabled || !n.End.IsZero() || n.Timezone != "" || n.Schedule != "@daily" || string(n.Run.Input) != `{"b":2}` {
		t.Errorf("%+v", n)
	}
}

func TestCronSearch(t *testing.T) {
	t.Parallel()
	f := newFake()
	srv := f.serve(t)
	body := `{"assistant_id":"graph","thread_id":"` + uuid(5) + `","enabled":true,"metadata":{"m":1},"limit":3,"offset":2,"sort_by":"next_run_date","sort_order":"asc","select":["cron_id","now"]}`
	send(t, "POST", srv.URL+"/runs/crons", `{"schedule":"@daily"}`)
	res, err := http.Post(srv.URL+"/runs/crons/search", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	got, _ := io.ReadAll(res.Body)
	on := true
	want := adapter.CronQuery{Agent: "graph", ThreadID: uuid(5), Enabled: &on, Metadata: raw(`{"m":1}`), SortBy: mapping.SortByTick, Asc: true, Limit: 3, Offset: 2}
	if d := cmp.Diff(any(want), f.lastQuery); d != "" {
		t.Error(d)
	}
	if !strings.HasPrefix(string(got), `[{"cron_id":"`+uuid(1)+`","now":"`) {
		t.Errorf("%s", got)
	}
}

func badCronInputs() []badInput {
	crons, thread := "/runs/crons", aThread+"/runs/crons"
	return []badInput{
		{"cron: empty", "POST", crons, ``, 422, "empty"},
		{"cron: no schedule", "POST", crons, `{"assistant_id":"graph"}`, 422, "schedule is required"},
		{"cron: schedule", "POST", crons, `{"schedule":5}`, 422, "schedule must be a string"},
		{"cron: empty schedule", "POST", crons, `{"schedule":""}`, 422, "schedule must not be empty"},
		{"cron: timezone", "POST", crons, `{"schedule":"@daily","timezone":1}`, 422, "timezone must be a string"},
		{"cron: enabled", "POST", crons, `{"schedule":"@daily","enabled":"yes"}`, 422, "enabled must be true or false"},
		{"cron: end_time", "POST", crons, `{"schedule":"@daily","end_time":"tomorrow"}`, 422, "end_time must be an ISO 8601 time"},
		{"cron: on_run_completed", "POST", crons, `{"schedule":"@daily","on_run_completed":"burn"}`, 422, "on_run_completed must be one of"},
		{"cron: thread in the body", "POST", crons, `{"schedule":"@daily","thread_id":"` + uuid(5) + `"}`, 422, "thread_id is part of the path"},
		{"cron: webhook", "POST", crons, `{"schedule":"@daily","webhook":"file:///x"}`, 422, "webhook must be an http or https URL"},
		{"cron of a thread: thread", "POST", "/threads/x/runs/crons", `{"schedule":"@daily"}`, 422, "thread_id must be a UUID"},
		{"cron of a thread: on_run_completed", "POST", thread, `{"schedule":"@daily","on_run_completed":"delete"}`, 422, "on_run_completed can only be delete for"},
		{"cron patch: id", "PATCH", crons + "/x", `{}`, 422, "cron_id must be a UUID"},
		{"cron patch: unknown", "PATCH", crons + "/" + uuid(9), `{}`, 404, "no such cron"},
		{"cron patch: assistant", "PATCH", crons + "/" + uuid(9), `{"assistant_id":"graph"}`, 422, "assistant_id cannot be changed"},
		{"cron delete: id", "DELETE", crons + "/x", ``, 422, "cron_id must be a UUID"},
		{"cron delete: unknown", "DELETE", crons + "/" + uuid(9), ``, 404, "no such cron"},
		{"cron search: thread", "POST", crons + "/search", `{"thread_id":"x"}`, 422, "thread_id must be a UUID"},
		{"cron search: enabled", "POST", crons + "/search", `{"enabled":1}`, 422, "enabled must be true or false"},
		{"cron search: sort_by", "POST", crons + "/search", `{"sort_by":"mood"}`, 422, "sort_by must be one of"},
		{"cron search: select", "POST", crons + "/search", `{"select":["soul"]}`, 422, `unknown field "soul"`},
		{"cron count: metadata", "POST", crons + "/count", `{"metadata":[]}`, 422, "metadata must be an object"},
		{"crons are not got", "GET", crons, ``, 405, "POST"},
	}
}

func TestBadCronInput(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.prepare("thread: {}\nrun: legacy")
	srv := f.serve(t)
	for _, b := range badCronInputs() {
		checkRefusal(t, f, srv.URL, b)
	}
}
