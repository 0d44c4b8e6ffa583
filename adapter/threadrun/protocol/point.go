package protocol

import "github.com/apbridge/apbridge/mapping"

// points tells checkpoints, with a step for each.
type points struct {
	*teller
	steps map[string]int // of checkpoints, as they are told
}

// note notes the step of a checkpoint, before it is told.
func (p *points) note(cp *mapping.Checkpoint) { p.steps[cp.ID] = p.stepOf(cp) }

// noteAll notes the steps of checkpoints that are not told.
func (p *points) noteAll(list []mapping.Checkpoint) {
	for i := range list {
		p.note(&list[i])
	}
}

// stepOf is the step that a checkpoint is told as: one that comes after that of its parent. A thread/run agent counts
// anew where the bridge made it a new thread to go on from an earlier state, and clients take the values of a lower
// step for old ones.
func (p *points) stepOf(cp *mapping.Checkpoint) int {
	if before, ok := p.steps[cp.Parent]; ok {
		return max(cp.Step, before+1)
	}
	return cp.Step
}

// emitPoint tells a checkpoint, which clients pair with the values after it. brings: it is the one that brings what a
// person said. To the SDKs only that one names its parent: they take the newest parent they are told for that of all
// messages in the values, and fork there when a message is edited.
func (p *points) emitPoint(cp *mapping.Checkpoint, brings bool) {
	p.send(channelCheckpoints, nil, func(w *writer) {
		w.open().text("id", cp.ID)
		if brings || w.spelling == Camel {
			w.some("parent_id", cp.Parent)
		}
		w.int("step", int64(p.steps[cp.ID])).text("source", sourceOf(cp.Source)).close()
	})
}

// sourceOf is where a checkpoint comes from, in the protocol's words.
func sourceOf(source string) string {
	switch source {
	case "input", "update", "fork":
		return source
	default:
		return "loop"
	}
}
