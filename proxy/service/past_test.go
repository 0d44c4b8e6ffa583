package service_test

import (
	"slices"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/service/servicetest"
)

// The log records for each run the names of the items passed to its agent, and nothing for a run without items.
func TestItemsPassedToAgentsAreRecorded(t *testing.T) {
	t.Parallel()
	b, _ := recalling(t, 4)
	b.Legacy.Does(servicetest.Lockstep(1))
	b.Graph.Does(servicetest.Nodes("a"))
	for _, agent := range []string{"legacy", "graph"} {
		r, _ := b.Start(t, t.Context(), servicetest.NewRun("", agent, "tea"))
		got, err := b.ListRecalledItems(t.Context(), r.ThreadID, 10)
		if err != nil || len(got) != 1 || got[0].RunID != r.ID || len(got[0].Items) != 1 || got[0].Items[0].Key != "k" || !slices.Equal(got[0].Items[0].Namespace, []string{"n"}) {
			t.Errorf("%s: %+v, %v", agent, got, err)
		}
		if _, err := b.ListRecalledItems(as(t.Context(), "other"), r.ThreadID, 10); class(err) != mapping.NotFound {
			t.Errorf("%s, asked by another tenant: %v", agent, err)
		}
		if err := b.DeleteItem(t.Context(), []string{"n"}, "k"); err != nil {
			t.Fatal(err)
		}
		r, _ = b.Start(t, t.Context(), servicetest.NewRun(r.ThreadID, agent, "tea"))
		if again, err := b.ListRecalledItems(t.Context(), r.ThreadID, 10); err != nil || len(again) != 1 {
			t.Errorf("%s, after a run without items: %+v, %v", agent, again, err)
		}
		b.keep(t, `{"t":"green tea"}`)
	}
}
