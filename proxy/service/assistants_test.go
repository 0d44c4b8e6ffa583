package service_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
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
			t.Fatalf("%+v", list)
		}
		if err := w.DeleteAssistant(t.Context(), a.ID, false); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		w.want(t, 1, "after its assistant was deleted")
	})
}

// A principal sees no assistants over agents that it may not use.
func TestAssistantOfAnAgentThatMayNotBeUsed(t *testing.T) {
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
		t.Errorf("%+v %v", list, err)
	}
}
