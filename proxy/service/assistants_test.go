package service_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/proxy/service/servicetest"
)

// A cron's runs use the assistant's settings at the tick, not those at the cron's creation.
func TestCronOfAnAssistant(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, path string) {
		w := wind(t, path, cronAgent{})
		defer w.close()
		a, err := w.CreateAssistant(t.Context(), adapter.AssistantRequest{Graph: "a", Config: json.RawMessage(`{"configurable":{"user":"old"}}`), Metadata: json.RawMessage(`{"team":"x"}`)})
		if err != nil {
			t.Fatal(err)
		}
		n := everyHour()
		n.Run.Agent, n.Run.Config = a.ID, json.RawMessage(`{"tags":["mine"]}`)
		w.cron(t, n)
		if _, err := w.UpdateAssistant(t.Context(), a.ID, adapter.AssistantPatch{Config: json.RawMessage(`{"configurable":{"user":"new"}}`)}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour + time.Second)
		list := w.runs(t)
		if len(list) != 1 || list[0].AssistantID != a.ID || list[0].Agent != "a" || string(list[0].Options.Config) != `{"configurable":{"user":"new"},"tags":["mine"]}` ||
			!rawjson.Contains(list[0].Metadata, json.RawMessage(`{"team":"x"}`)) {
			t.Fatalf("got %+v", list)
		}
		if err := w.DeleteAssistant(t.Context(), a.ID, false); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		w.want(t, 1, "after its assistant was deleted")
	})
}

// TestThreadKeepsTheConfigOfItsRuns checks that a thread's config has that of its runs and their assistant, and a run's
// kwargs that of its assistant. Credentials stay with the run.
func TestThreadKeepsTheConfigOfItsRuns(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a, err := b.CreateAssistant(t.Context(), adapter.AssistantRequest{Graph: "graph", Config: raw(`{"tags":["a"],"configurable":{"user":"ada","team":"x"}}`), Context: raw(`{"c":1}`)})
	if err != nil {
		t.Fatal(err)
	}
	thread := mapping.NewID()
	for _, c := range []struct{ given, config, kept string }{
		{`{"configurable":{"user":"bob","api_key":"k"}}`, `{"tags":["a"],"configurable":{"user":"bob","team":"x","api_key":"k"}}`, `{"tags":["a"],"configurable":{"user":"bob","team":"x"}}`},
		{`{"recursion_limit":7,"configurable":{"more":1}}`, `{"tags":["a"],"recursion_limit":7,"configurable":{"user":"ada","team":"x","more":1}}`, `{"tags":["a"],"recursion_limit":7,"configurable":{"user":"bob","team":"x","more":1}}`},
	} {
		n := servicetest.NewRun(thread, a.ID, "hi")
		n.Config = raw(c.given)
		n.Kwargs, _ = rawjson.WithMember(n.Kwargs, "config", n.Config)
		run, _ := b.Start(t, t.Context(), n)
		th, err := b.GetThread(t.Context(), thread)
		if err != nil || !rawjson.Equal(th.Config, raw(c.kept)) {
			t.Errorf("the thread's config is %s, %v; want %s", th.Config, err, c.kept)
		}
		if got := rawjson.Get(run.Kwargs, "config"); !rawjson.Contains(got, raw(c.config)) || string(rawjson.Get(run.Kwargs, "context")) != `{"c":1}` {
			t.Errorf("kwargs are %s, want config %s", run.Kwargs, c.config)
		}
	}
}

// A principal sees no assistants over agents that it may not use.
func TestAssistantOfAForbiddenAgent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a, err := b.CreateAssistant(t.Context(), adapter.AssistantRequest{Graph: "legacy"})
	if err != nil {
		t.Fatal(err)
	}
	ctx := mapping.WithPrincipal(t.Context(), mapping.Principal{ID: "p", Agents: []string{"graph"}})
	_, getting := b.GetAssistant(ctx, a.ID)
	_, changing := b.UpdateAssistant(ctx, a.ID, adapter.AssistantPatch{})
	_, setting := b.SetAssistantVersion(ctx, a.ID, 1)
	_, listing := b.ListAssistantVersions(ctx, a.ID, adapter.VersionQuery{})
	_, running := b.StartRun(ctx, &adapter.RunRequest{Agent: a.ID})
	_, taking := b.CreateAssistant(ctx, adapter.AssistantRequest{Graph: "graph", ID: a.ID, OrGet: true})
	for what, err := range map[string]error{
		"getting": getting, "changing": changing, "setting": setting, "listing": listing, "running": running, "deleting": b.DeleteAssistant(ctx, a.ID, false),
	} {
		if mapping.Classify(err).Class != mapping.NotFound {
			t.Errorf("%s: %v", what, err)
		}
	}
	if mapping.Classify(taking).Class != mapping.Conflict {
		t.Errorf("taking its id: %v", taking)
	}
	if list, _, err := b.SearchAssistants(ctx, adapter.AgentQuery{}); err != nil || len(list) != 1 || list[0].Graph != "graph" {
		t.Errorf("got %+v, %v", list, err)
	}
}
