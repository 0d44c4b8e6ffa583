package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
)

// The additional input of a task reaches the agent, whether the run starts at once or has to wait.
func TestAdditionalInputReachesTheAgent(t *testing.T) {
	t.Parallel()
	for name, delay := range map[string]time.Duration{"a run that begins at once": 0, "a run that waits": time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			told := make(chan []byte, 1)
			b := setup(t, &script{exposes: mapping.ExposesNothing, run: func(ctx context.Context, a adapter.Assignment, yield func(mapping.Event, error) bool) {
				told <- a.Task.Additional
				twoSteps(ctx, a, yield)
			}})
			id := mapping.NewID()
			task := mapping.Task{ID: id, ThreadID: id, Agent: "a", AdditionalInput: json.RawMessage(`{"k":1}`)}
			if _, _, err := b.st.Threads.Create(t.Context(), store.ThreadCreation{Thread: mapping.Thread{ID: id}, Task: &task}); err != nil {
				t.Fatal(err)
			}
			o := order(id, mapping.StrategyReject)
			o.New.Thread, o.New.Task, o.New.Run.TaskID = nil, nil, id
			if delay > 0 {
				o.New.Run.RunAfter = time.Now().Add(delay)
			}
			b.end(t, b.begin(t, o))
			if got := <-told; !bytes.Contains(got, []byte(`"k":1`)) {
				t.Errorf("the agent received %s", got)
			}
		})
	}
}
