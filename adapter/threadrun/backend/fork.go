package backend

import (
	"encoding/json"

	"github.com/apbridge/apbridge/mapping/rawjson"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/upstream"
)

// historyAsk is the body of POST /threads/{thread_id}/history.
type historyAsk struct {
	Limit    int            `json:"limit"`
	Metadata map[string]any `json:"metadata"`
}

// findFork reports whether the run can start at an older checkpoint of its upstream thread. It stores the checkpoint's
// id in the task's Fork.
func (th *thread) findFork() (bool, error) {
	fork := th.t.Graph.Fork
	if fork == nil || th.link.Remote == "" {
		return false, nil
	}
	if fork.Checkpoint != "" {
		return true, nil
	}
	id, err := th.pointOf(fork)
	if th.t.Graph.Fork = nil; err != nil || id == "" {
		return false, err
	}
	th.t.Graph.Fork = &adapter.Fork{Checkpoint: id}
	return true, nil
}

// pointOf returns the id of the checkpoint with the task's Values. It is "" if the thread has no such checkpoint, as
// with durability "exit", or if the server does not list it.
func (th *thread) pointOf(fork *adapter.Fork) (string, error) {
	var list []stateWire
	ask := historyAsk{Limit: 3, Metadata: map[string]any{"run_id": fork.Run, "step": fork.Step}}
	err := th.b.http.askJSON(th.ctx, threadPath(th.link.Remote)+"/history", ask, &list)
	if code := upstream.Status(err); code >= 400 && code < 500 {
		return "", nil
	}
	for _, st := range list {
		var meta checkpointMeta
		_ = json.Unmarshal(st.Metadata, &meta)
		if meta.RunID == fork.Run && meta.Step == fork.Step && rawjson.Equal(th.t.Graph.Values, st.Values) {
			return st.head(), nil
		}
	}
	return "", err
}
