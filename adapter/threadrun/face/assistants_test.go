package face

import (
	"context"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
)

func (f *fake) CreateAssistant(_ context.Context, n adapter.AssistantRequest) (mapping.Assistant, error) {
	f.note("assistants.create")
	f.lastQuery = n
	return mapping.Assistant{ID: uuid(700), Graph: n.Graph, Name: n.Name, Version: 1, CreatedAt: at, UpdatedAt: at}, nil
}

func (f *fake) UpdateAssistant(ctx context.Context, id string, p adapter.AssistantPatch) (mapping.Assistant, error) {
	a, err := f.GetAssistant(ctx, id)
	if err == nil {
		f.note("assistants.update")
		f.lastQuery = p
	}
	return a, err
}

func (f *fake) DeleteAssistant(ctx context.Context, id string, threads bool) error {
	_, err := f.GetAssistant(ctx, id)
	if err == nil {
		f.note("assistants.delete")
		f.lastQuery = threads
	}
	return err
}

func (f *fake) ListAssistantVersions(ctx context.Context, id string, q adapter.VersionQuery) ([]mapping.Assistant, error) {
	a, err := f.GetAssistant(ctx, id)
	f.lastQuery = q
	return []mapping.Assistant{a}, err
}

func (f *fake) SetAssistantVersion(ctx context.Context, id string, version int) (mapping.Assistant, error) {
	a, err := f.GetAssistant(ctx, id)
	if err == nil {
		f.note("assistants.latest")
		f.lastQuery = version
	}
	return a, err
}

func TestAssistantRequestsAreReadWhole(t *testing.T) {
	t.Parallel()
	text := func(s string) *string { return &s }
	for _, c := range []struct {
		method, path, body string
		want               any
	}{
		{
			"POST", "/assistants",
			`{"graph_id":"legacy","config":{"tags":["t"]},"context":{"c":1},"metadata":{"m":1},"assistant_id":"` + uuid(7) + `","if_exists":"do_nothing","name":"n","description":"d"}`,
			adapter.AssistantRequest{
				ID: uuid(7), Graph: "legacy", Name: "n", Description: "d", Metadata: raw(`{"m":1}`), Config: raw(`{"tags":["t"]}`), Context: raw(`{"c":1}`), OrGet: true,
			},
		},
		{"POST", "/assistants", `{"graph_id":"legacy","config":null,"context":null,"metadata":null,"assistant_id":null,"if_exists":null,"name":null,"description":null}`, adapter.AssistantRequest{Graph: "legacy"}},
		{
			"PATCH", "/assistants/legacy", `{"graph_id":"graph","config":{},"context":{"c":1},"metadata":{"m":1},"name":"n","description":""}`,
			adapter.AssistantPatch{Graph: text("graph"), Name: text("n"), Description: text(""), Metadata: raw(`{"m":1}`), Config: raw(`{}`), Context: raw(`{"c":1}`)},
		},
		{"PATCH", "/assistants/legacy", `{"graph_id":null,"config":null,"name":null}`, adapter.AssistantPatch{}},
		{"DELETE", "/assistants/legacy?delete_threads=true", ``, true},
		{"DELETE", "/assistants/legacy?delete_threads=false", ``, false},
		{"POST", "/assistants/legacy/versions", `{"metadata":{"m":1},"limit":3,"offset":2}`, adapter.VersionQuery{Metadata: raw(`{"m":1}`), Limit: 3, Offset: 2}},
		{"POST", "/assistants/legacy/latest", `{"version":4}`, 4},
		{"GET", "/assistants/legacy/graph?xray=true", ``, "true"},
		{"GET", "/assistants/legacy/graph?xray=False", ``, ""},
		{"GET", "/assistants/legacy/graph?xray=2", ``, "2"},
		{"GET", "/assistants/legacy/subgraphs/a%7Cb?recurse=true", ``, [2]any{"a|b", true}},
	} {
		f := newFake()
		status, body := roundTrip(t, c.method, f.serve(t).URL+c.path, c.body)
		if d := cmp.Diff(c.want, f.lastQuery); d != "" || status/100 != 2 {
			t.Errorf("%s %s: %d %s %s", c.method, c.path, status, body, d)
		}
	}
}
