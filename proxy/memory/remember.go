package memory

import (
	"context"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/store/item"
)

// Remember stores what a step asked to be remembered (memory.allow_writes), all of it or nothing. An error says that
// what the agent wrote cannot be stored, or lies outside of its namespaces: the step itself was good.
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
