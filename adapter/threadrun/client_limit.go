package threadrun

import "github.com/apbridge/apbridge/mapping"

// supersteps counts those of a run whose root put something out. Several nodes
// may do so in one superstep; a checkpoint ends it, where the server tells
// checkpoints, else each update counts.
type supersteps struct {
	n      int
	within bool // the present one is counted
	told   bool // the server tells checkpoints
}

func (c *supersteps) update() {
	if !c.within {
		c.n++
	}
	c.within = c.told
}

func (c *supersteps) checkpoint() { c.within, c.told = false, true }

// note counts what is logged.
func (c *supersteps) note(ev mapping.Event) {
	switch {
	case ev.Kind == mapping.KindUpdate && len(ev.Head.NS) == 0:
		c.update()
	case ev.Kind == mapping.KindState && ev.Head.Checkpoint != nil:
		c.checkpoint()
	}
}

// mayMake is the guard against agents that never end: servers need not know a
// recursion_limit, and in lockstep it counts anew with each step. What is above
// the limit is not taken, and the agent is told to stop.
func (s *session) mayMake() error {
	s.made.update()
	limit := s.maxSteps()
	if s.made.n <= limit {
		return nil
	}
	s.cancelThere()
	return mapping.Errorf(mapping.Upstream, mapping.CodeStepLimit,
		"Agent %q was stopped after %d steps (max_steps, or the request's recursion_limit).", s.b.up.Name, limit)
}

// maxSteps is how many supersteps the run may have.
func (s *session) maxSteps() int {
	for _, n := range []int{s.t.Run.Options.MaxSteps, s.b.up.Config.MaxSteps} {
		if n > 0 {
			return n
		}
	}
	return 100
}
