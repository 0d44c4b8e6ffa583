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
	step    int               // of the newest checkpoint, as it is emitted
	turn    string            // the checkpoint at which the newest one's turn began
	turnsOf map[string]string // by checkpoints: that of what comes after them
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

// awaitsInput reports whether a graph has not taken its input yet at a checkpoint. It takes the same one again in a run
// without an input, and another one in its place.
func awaitsInput(cp *mapping.Checkpoint) bool {
	return len(cp.Next) == 1 && cp.Next[0] == rule.StartNode
}

// noteAll notes checkpoints that are not emitted.
func (p *checkpoints) noteAll(list []mapping.Checkpoint) {
	for i := range list {
		p.note(&list[i])
	}
}

// emitPoint emits the newest checkpoint. SDKs fork at its parent, to have a person's message replaced and to have an
// answer made again. They take it for the parent of every message in the values (up to 1.11), or of the new ones (from
// 1.15 on). So they are told where the turn began, which serves both.
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

// Sources of checkpoints, as package mapping has them.
const (
	sourceInput = "input"
	sourceLoop  = "loop"
)

// sourceOf is where a checkpoint comes from, in the protocol's words.
func sourceOf(source string) string {
	switch source {
	case sourceInput, "update", "fork":
		return source
	default:
		return sourceLoop
	}
}
