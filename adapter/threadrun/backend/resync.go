package backend

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

// This file checks at the next run whether an upstream thread has changed. A stream contains every state but no
// checkpoint ids. A state that is read from the thread names the run and step that created it, which is sufficient.

// catchUp checks whether another client has used the upstream thread since our last run there. If so, the changed state
// is yielded first, as a separate state.
func (th *thread) catchUp() error {
	if !th.link.Agreed() {
		return nil
	}
	st, err := th.state()
	if err != nil {
		return err
	}
	agreed := th.agreed(st)
	th.link.RemoteCheckpoint, th.link.RemoteMark = st.head(), ""
	if agreed {
		th.names.points.note(st.head(), th.link.LocalCheckpoint)
		return nil
	}
	drift := th.names.stateEvent(st, "upstream")
	drift.Head.Checkpoint.ID = th.names.pointID()
	th.names.points.note(st.head(), th.names.newest)
	return th.emit(drift)
}

// agreed reports whether the upstream thread still has the state on which both sides agreed: the recorded checkpoint,
// the checkpoint with the mark, or at least an equal state with nothing pending.
func (th *thread) agreed(st stateWire) bool {
	if th.link.RemoteMark == "" {
		return st.head() == th.link.RemoteCheckpoint || st.head() == ""
	}
	var meta checkpointMeta
	_ = json.Unmarshal(st.Metadata, &meta)
	switch {
	case len(st.Next) > 0 || asks(st):
		return false
	case meta.Source == "loop" && mark(meta.RunID, meta.Step) == th.link.RemoteMark:
		return true
	}
	return th.t.State != nil && rawjson.Equal(th.t.State.JSON(), st.Values)
}

// mark identifies the last checkpoint of an upstream run.
func mark(run string, step int) string { return run + "@" + strconv.Itoa(step) }

// markOf reports whether text marks a checkpoint of the upstream run.
func markOf(text, run string) bool { return run != "" && strings.HasPrefix(text, run+"@") }
