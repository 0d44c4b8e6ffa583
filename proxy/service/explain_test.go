package service_test

import (
	"encoding/json"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
)

// States that no client can cause: a run without a holder, and one that the dispatcher has not seen yet.
func TestExplainRunsOfADeadBridge(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for reason, claim := range map[adapter.Reason]bool{adapter.ReasonStarting: false, adapter.ReasonLease: true} {
		id, thread := mapping.NewID(), mapping.NewID()
		n := &store.CreateRun{
			Run:    mapping.Run{ID: id, ThreadID: thread, TaskID: id, Agent: "legacy", AssistantID: mapping.AssistantID("legacy"), Kwargs: json.RawMessage(`{}`)},
			Thread: &mapping.Thread{ID: thread, Metadata: json.RawMessage(`{}`), Config: json.RawMessage(`{}`)},
			Task:   &mapping.Task{ID: id, ThreadID: thread, Agent: "legacy", AdditionalInput: json.RawMessage(`{}`)},
			Claim:  claim,
		}
		c, err := b.Store.Runs.Create(t.Context(), n)
		if err == nil && claim {
			err = b.Store.Claims.Release(t.Context(), id, c.Claimed.Fence)
		}
		if err != nil {
			t.Fatal(err)
		}
		why, err := b.ExplainRun(t.Context(), adapter.RunRef{RunID: id})
		if err != nil || why.Reason != reason || claim && (why.Lease == nil || why.Lease.Owner != "") {
			t.Errorf("want %s: %+v, %v", reason, why, err)
		}
	}
}
