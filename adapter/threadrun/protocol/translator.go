package protocol

import (
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
)

// translator turns the entries of a thread's log, in order, into events. It needs every run from its start, but only
// the checkpoints of earlier runs. The k-th event of an entry is the same for every reader, regardless of filters. Not
// safe for concurrent use.
type translator struct {
	out         *emitter
	checkpoints *checkpoints
	runs        map[string]*runView // of runs that have not ended
}

func newTranslator(emit func(ev *event, at position)) *translator {
	out := &emitter{emit: emit}
	return &translator{out: out, checkpoints: newCheckpoints(out), runs: map[string]*runView{}}
}

// knows reports whether the run is known.
func (t *translator) knows(runID string) bool { return runID == "" || t.runs[runID] != nil }

// beginRun introduces a run before its first entry.
func (t *translator) beginRun(run *mapping.Run) {
	t.runs[run.ID] = &runView{
		out: t.out, checkpoints: t.checkpoints, id: run.ID, agent: run.Agent, answers: answered(&run.Options),
		asked: map[string]bool{}, messages: newTranscript(), tree: newTree(run.Agent),
	}
}

// entry emits the events of an entry. Its run must be known.
func (t *translator) entry(e *state.Entry) {
	t.out.at = position{seq: e.Seq, at: e.At}
	if cp := e.Head.Checkpoint; cp != nil {
		t.checkpoints.note(cp)
	}
	v := t.runs[e.RunID]
	if v == nil {
		if e.RunID == "" {
			t.changed(e)
		}
		return
	}
	switch e.Kind {
	case mapping.KindStarted:
		v.started(e)
	case mapping.KindInput:
		v.noteCheckpoint(e)
	case mapping.KindDelta:
		v.delta(e)
	case mapping.KindUpdate:
		v.update(e)
	case mapping.KindInterrupt:
		v.emitQuestions(e.Head.NS, e.Head.Interrupts)
	case mapping.KindCustom:
		v.custom(e.Head.NS, "", e.Data)
	case mapping.KindChunk:
		v.chunk(e)
	case mapping.KindState:
		v.state(e)
	case mapping.KindEnd:
		v.endRun(e)
		delete(t.runs, e.RunID)
	}
}

// changed handles an entry between runs, where a client changed the state.
func (t *translator) changed(e *state.Entry) {
	if e.Head.Checkpoint != nil {
		t.checkpoints.emit(e.Head.Checkpoint)
		t.out.values(e)
	}
}
