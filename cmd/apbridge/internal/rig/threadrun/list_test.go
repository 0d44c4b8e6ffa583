package threadrun

import (
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// TestThreadsAndAssistantsAreListed checks the GET lists of Aegra's API, with paging.
func TestThreadsAndAssistantsAreListed(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, adaptertest.NewStepAgent(adaptertest.AutoGPT))
	first, second := b.Thread(), b.Thread()
	b.On(first, `{"input":"a request that is long to find"}`)
	all := b.Get("/threads").OK()
	if len(all.List("threads")) != 2 || all.At("total") != 2.0 || all.Text("threads.0.thread_id") != strings.TrimPrefix(second, "/threads/") {
		t.Errorf("%s", all)
	}
	if strings.Contains(all.String(), "long to find") || all.Text("threads.1.status") != "idle" {
		t.Errorf("the list has states, or lacks statuses: %s", all)
	}
	one := b.Get("/threads?limit=1&offset=1").OK()
	if len(one.List("threads")) != 1 || one.At("total") != 2.0 || "/threads/"+one.Text("threads.0.thread_id") != first {
		t.Errorf("%s", one)
	}
	if next := b.Get("/threads?limit=1").OK().Header.Get("X-Pagination-Next"); next != "1" {
		t.Errorf("the next page begins at %q", next)
	}
	b.Post("/assistants", `{"graph_id":"agent","name":"another"}`).OK()
	list := b.Get("/assistants?limit=1").OK()
	if len(list.List("assistants")) != 1 || list.At("total") != 2.0 || list.Text("assistants.0.graph_id") != "agent" {
		t.Errorf("%s", list)
	}
	for _, path := range []string{"/threads?limit=0", "/threads?limit=x", "/assistants?offset=-1"} {
		b.Get(path).Is(422)
	}
}
