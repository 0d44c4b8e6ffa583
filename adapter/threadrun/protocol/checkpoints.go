package protocol

import (
	"cmp"
	"math"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
)

// checkpoints emits checkpoints. Clients pair each with the values that follow it.
type checkpoints struct {
	*emitter
	step    int               // that of the newest checkpoint, as emitted
	turn    string            // the checkpoint at which the current turn began
	turnsOf map[string]string // the beginning of the turn after each checkpoint
}

func newCheckpoints(out *emitter) *checkpoints {
	return &checkpoints{emitter: out, step: math.MinInt, turnsOf: map[string]string{}}
}

// note records a checkpoint before it is emitted and makes its step greater than all before it. A thread/run agent
// counts from the start if the bridge created a new thread for it, and a fork counts from its origin. Clients treat
// values with a lower step as old and keep messages that these lack.
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

// awaitsInput reports whether a graph at the checkpoint has not processed its input yet. A run without an input
// processes it again, and a run with another input replaces it.
func awaitsInput(cp *mapping.Checkpoint) bool {
	return len(cp.Next) == 1 && cp.Next[0] == rule.StartNode
}

// noteAll records checkpoints that are not emitted.
func (p *checkpoints) noteAll(list []mapping.Checkpoint) {
	for i := range list {
		p.note(&list[i])
	}
}

// emitPoint emits the newest checkpoint. SDKs fork at its parent to replace a person's message or to regenerate an
// answer. They treat it as the parent of every message in the values (up to 1.11), or of the new ones (from 1.15 on).
// So the parent is the beginning of the turn, which works for both.
func (p *checkpoints) emitPoint(cp *mapping.Checkpoint) {
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
