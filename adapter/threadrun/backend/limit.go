package backend

import (
	"bytes"
	"encoding/json"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// supersteps counts those of a run whose root put something out. As many updates are one superstep as there were tasks
// announced for it before the first of them, by the checkpoint that began it or by their own frames. Any further update
// counts as a superstep of its own: so a graph has a bound that announces nothing, and so do the tasks that a function
// of LangGraph's functional API calls one after the other.
type supersteps struct {
	n     int
	room  int // updates that still belong to the newest superstep
	next  int // tasks that the checkpoint announced for the next one
	tasks int // tasks that began since
}

func (c *supersteps) update() {
	if c.room == 0 {
		c.n++
		c.room = max(c.next, c.tasks, 1)
		c.next, c.tasks = 0, 0
	}
	c.room--
}

// checkpoint ends a superstep; next is how many tasks the following one has.
func (c *supersteps) checkpoint(next int) { c.room, c.next, c.tasks = 0, next, 0 }

// task is one that begins. Those that begin within a superstep were not part of it.
func (c *supersteps) task() {
	if c.room == 0 {
		c.tasks++
	}
}

// note counts what is logged.
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

// begins reports whether the data of a tasks frame is that of a task that begins, rather than of its result.
func begins(data json.RawMessage) bool {
	if !bytes.Contains(data, []byte(`"triggers"`)) {
		return false
	}
	found := false
	_ = rawjson.EachMember(data, func(name rawjson.Quoted, _ json.RawMessage) { found = found || name.Is("triggers") })
	return found
}

// mayMake stops a run at its limit: servers need not know a recursion_limit, and in lockstep it counts anew with each
// step. What is above the limit is not taken, and the agent is told to stop.
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
