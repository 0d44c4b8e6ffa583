package backend

import (
	"bytes"
	"encoding/json"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// supersteps counts the supersteps of the root graph that have output. A superstep has as many updates as tasks were
// announced before its first update, either by the checkpoint that began it or by task frames. Each further update
// counts as another superstep. So the limit also applies to graphs that announce nothing, and to tasks that a function
// of LangGraph's functional API calls in sequence.
type supersteps struct {
	n     int
	room  int // updates that still belong to the newest superstep
	next  int // tasks that the checkpoint announced for the next superstep
	tasks int // tasks that began since that checkpoint
}

func (c *supersteps) update() {
	if c.room == 0 {
		c.n++
		c.room = max(c.next, c.tasks, 1)
		c.next, c.tasks = 0, 0
	}
	c.room--
}

// checkpoint ends a superstep. next is the number of tasks of the following one.
func (c *supersteps) checkpoint(next int) { c.room, c.next, c.tasks = 0, next, 0 }

// task counts a task that begins, unless a superstep is still in progress.
func (c *supersteps) task() {
	if c.room == 0 {
		c.tasks++
	}
}

// note counts a logged event.
func (c *supersteps) note(ev mapping.Event) {
	switch {
	case len(ev.Head.NS) > 0:
	case ev.Kind == mapping.KindUpdate:
		c.update()
	case ev.Kind == mapping.KindState && ev.Head.Point() != nil:
		c.checkpoint(len(ev.Head.Point().Next))
	case ev.Kind == mapping.KindChunk && ev.Head.Name == "tasks" && begins(ev.Data):
		c.task()
	}
}

// begins reports whether the data of a tasks frame describes the start of a task rather than its result.
func begins(data json.RawMessage) bool {
	if !bytes.Contains(data, []byte(`"triggers"`)) {
		return false
	}
	found := false
	_ = rawjson.EachMember(data, func(name rawjson.Quoted, _ json.RawMessage) { found = found || name.Is("triggers") })
	return found
}

// mayMake stops a run at its limit. Servers need not support recursion_limit, and in lockstep their count restarts with
// each step. Output above the limit is discarded, and the agent is asked to stop.
func (tr *translator) mayMake() error {
	tr.made.update()
	o := &tr.t.Run.Options
	if o.MaxSteps == 0 || tr.made.n <= o.MaxSteps {
		return nil
	}
	tr.cancelThere()
	return mapping.Errorf(mapping.Upstream, mapping.CodeStepLimit,
		"Agent %q was stopped after %d steps, %s.", tr.b.up.Name, o.MaxSteps, o.LimitedBy.Allows(tr.b.up.Name))
}
