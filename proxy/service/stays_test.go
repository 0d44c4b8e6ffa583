package service_test

import (
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// Who begins several runs at once executes none of them, whatever they say: each would
// wait for the one before.
func TestOnlyWhoBeginsOneRunIsLeftToExecuteIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	n := adapter.NewRun{Agent: "legacy", Flavour: mapping.FlavourLangGraph, Input: []byte(`{"messages":[{"role":"user","content":"hi"}]}`), HasInput: true, Stays: true}
	end := func(st adapter.Started) {
		t.Helper()
		for _, err := range b.Runs.Events(t.Context(), adapter.RunRef{RunID: st.Run.ID}, adapter.Cursor{K: -1, Start: true}, nil) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	left := false
	for range 500 { // until its agent is known for a quick one, however busy the machine is
		st, err := b.Runs.Start(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		if left = st.Work != nil; left {
			st.Work()
		}
		if end(st); left {
			break
		}
	}
	if !left {
		t.Fatal("no run was left to who began it")
	}
	all, err := b.Runs.StartAll(t.Context(), []adapter.NewRun{n, n})
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range all {
		if st.Work != nil {
			t.Error("a run of several was left to who began them")
			st.Work()
		}
		end(st)
	}
}
