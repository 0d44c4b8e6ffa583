package engine

import (
	"context"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/store/item"
)

// remember stores what a step asked to be remembered (memory.writes), all of it or nothing. What cannot be stored, or
// lies outside of the agent's memory.namespaces, is said in the log: the step itself was good. It comes before the step
// is logged, since a step that is not logged is asked for again after a crash, and then remembered again.
func (x *execution) remember(ctx context.Context, ev *mapping.Event) {
	_, additional := rule.StepSaid(ev)
	writes, err := rule.MemoryWrites(additional)
	if len(writes) == 0 && err == nil {
		return
	}
	list := make([]item.Put, len(writes))
	for i, w := range writes {
		list[i].Item = mapping.Item{Namespace: w.Namespace, Key: w.Key, Value: w.Value}
	}
	if err == nil {
		who := x.e.memoryOf(x.agent, &x.Run, x.Thread.Metadata)
		err = x.e.st.Items.PutAll(mapping.WithPrincipal(ctx, who), list...)
	}
	if err != nil {
		x.e.zap.Warn("what an agent asked to be remembered could not be stored", errField(err), runField(x.Run.ID), agentField(x.agent.Name))
	}
}
