package engine

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/store/item"
)

// remembered bounds the items that one template of memory.namespaces brings.
const remembered = 100

// recalled is an item of the long-term store as an opaque agent is told it.
type recalled struct {
	Namespace []string        `json:"namespace"`
	Key       string          `json:"key"`
	Value     json.RawMessage `json:"value"`
}

// recall reads what the agent's memory.namespaces name for this run.
func (x assignment) recall(ctx context.Context) ([]recalled, error) {
	var list []recalled
	for _, template := range x.agent.Config.Memory.Namespaces {
		ns, ok := rule.ExpandNamespace(template, x.thread.Metadata, x.configurable())
		if !ok {
			continue
		}
		items, err := x.e.st.Items(ctx, item.Query{Prefix: ns, Limit: remembered})
		if err != nil {
			return nil, err
		}
		for _, it := range items {
			list = append(list, recalled{it.Namespace, it.Key, it.Value})
		}
	}
	return list, nil
}

func (x assignment) configurable() json.RawMessage {
	var k struct {
		Config struct {
			Configurable json.RawMessage `json:"configurable"`
		} `json:"config"`
	}
	if err := json.Unmarshal(x.run.Kwargs, &k); err != nil {
		return nil
	}
	return k.Config.Configurable
}

// lines is memory as a prompt has it.
func lines(list []recalled) []string {
	out := make([]string, len(list))
	for i, r := range list {
		out[i] = strings.Join(r.Namespace, "/") + "/" + r.Key + ": " + string(r.Value)
	}
	return out
}

// remember stores what a step asked to be remembered (memory.writes). What
// cannot be stored is said in the log: the step itself was good.
func (x *execution) remember(ctx context.Context, ev mapping.Event) {
	_, additional := rule.StepSaid(ev)
	writes, err := rule.MemoryWrites(additional)
	for i := 0; err == nil && i < len(writes); i++ {
		w := writes[i]
		if w.Value == nil {
			err = x.e.st.DeleteItem(ctx, w.Namespace, w.Key)
			continue
		}
		err = x.e.st.PutItem(ctx, item.Put{Item: mapping.Item{
			Tenant: x.run.Tenant, Owner: x.run.Owner, Namespace: w.Namespace, Key: w.Key, Value: w.Value,
			CreatedAt: ev.At, UpdatedAt: ev.At,
		}})
	}
	if err != nil {
		x.e.zap.Warn("what an agent asked to be remembered could not be stored", errField(err), runField(x.run.ID), agentField(x.agent.Name))
	}
}
