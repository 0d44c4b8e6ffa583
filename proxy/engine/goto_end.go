package engine

import (
	"iter"

	"github.com/apbridge/apbridge/mapping"
)

// endsAtOnce reports whether the run goes to the end of the graph that an opaque agent is shown as (command.goto
// "__end__"): its start drops the open question, and the agent is told nothing. No other goto reaches such an agent.
func (x *execution) endsAtOnce() bool {
	return x.rec.opaque && len(x.Run.Options.Goto) > 0
}

// gotoEnd is all that happens in such a run. Its checkpoint says that nothing comes next.
func (x *execution) gotoEnd() iter.Seq2[mapping.Event, error] {
	x.rec.dirty = true
	return func(yield func(mapping.Event, error) bool) {
		yield(mapping.Event{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &mapping.Outcome{Status: mapping.RunSuccess}}}, nil)
	}
}
