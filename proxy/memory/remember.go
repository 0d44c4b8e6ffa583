package memory

import (
	"context"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/store/item"
)

// Remember stores the items that a step writes (memory.allow_writes), all of them or none. An error means that they are
// invalid, or outside the agent's namespaces. The step itself remains valid.
func (m *Memory) Remember(ctx context.Context, s Scope, step *mapping.Event) error {
	_, additional := rule.StepSaid(step)
	writes, err := rule.MemoryWrites(additional)
	if err != nil || len(writes) == 0 {
		return err
	}
	list := make([]item.Put, len(writes))
	for i, w := range writes {
		list[i].Item = mapping.Item{Namespace: w.Namespace, Key: w.Key, Value: w.Value}
	}
	return m.items.PutAll(mapping.WithPrincipal(ctx, m.principal(s)), list...)
}
