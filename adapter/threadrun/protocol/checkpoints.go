package protocol

import (
	"cmp"
	"math"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
)

// checkpoints emits checkpoints. Clients pair a checkpoint with the values that follow it.
type checkpoints struct {
	*emitter
	step    int               // the step of the newest checkpoint, as emitted
	turn    string            // the checkpoint at which the current turn began
	turnsOf map[string]string // the beginning of the turn after each checkpoint
}

func newCheckpoints(out *emitter) *checkpoints {
	return &checkpoints{emitter: out, step: math.MinInt, turnsOf: map[string]string{}}
}

// note records a checkpoint before it is emitted and makes its step greater than all earlier ones. A thread/run agent
// restarts its count if the bridge created a new thread for it, and a fork continues the count of its origin. Clients
// treat values with a lower step as outdated and keep messages that are missing in them.
func (p *checkpoints) note(cp *mapping.Checkpoint) {
	p.step, p.turn = max(cp.Step, p.step+1), cp.Parent
	if cp.Source == sourceLoop {
		p.turn = cmp.Or(p.turnsOf[cp.Parent], cp.Parent)
	}
	p.turnsOf[cp.ID] = p.turn
	if cp.Source != sourceInput && cp.Source != sourceLoop || awaitsInput(cp) {
		p.turnsOf[cp.ID] = cp.ID
	}
}

// awaitsInput reports whether the graph has not processed its input yet at the checkpoint. A run from there without an
// input processes the input again; a run with an input replaces it.
func awaitsInput(cp *mapping.Checkpoint) bool {
	return len(cp.Next) == 1 && cp.Next[0] == rule.StartNode
}

// noteAll records checkpoints that are not emitted.
func (p *checkpoints) noteAll(list []mapping.Checkpoint) {
	for i := range list {
		p.note(&list[i])
	}
}

// emit emits the newest checkpoint. SDKs fork at its parent to replace a user's message or to regenerate an
// answer. SDKs up to 1.11 treat it as the parent of every message in the values, and those from 1.15 on only of the new
// messages. The beginning of the turn is emitted as the parent, because it works for both.
func (p *checkpoints) emit(cp *mapping.Checkpoint) {
	step, turn := p.step, p.turn
	p.send(channelCheckpoints, nil, func(w *writer) {
		parent := cp.Parent
		if w.spelling == Snake {
			parent = turn
		}
		w.open().text("id", cp.ID).some("parent_id", parent)
		w.int("step", int64(step)).text("source", sourceOf(cp.Source)).close()
	})
}

// Sources of checkpoints in package mapping.
const (
	sourceInput = "input"
	sourceLoop  = "loop"
)

// sourceOf returns the protocol's name for the source of a checkpoint.
func sourceOf(source string) string {
	switch source {
	case sourceInput, "update", "fork":
		return source
	default:
		return sourceLoop
	}
}
