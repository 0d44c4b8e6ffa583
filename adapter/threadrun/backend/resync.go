package backend

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

// This file is how an upstream thread is known again at the next run. A stream tells every state, but no checkpoint's
// id; the state that is read tells by which run and step it was made, which is as good.

// catchUp looks whether another client used the upstream thread since our last run there. What it did to the thread
// comes first, as a state of its own.
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

// agreed reports whether the upstream thread still holds what both sides agreed on: the checkpoint that was noted, or
// the one with the mark, or at least a state with nothing pending that is the same as ours.
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

// mark names the last checkpoint of an upstream run.
func mark(run string, step int) string { return run + "@" + strconv.Itoa(step) }

// markOf reports whether a mark names a checkpoint of the upstream run.
func markOf(text, run string) bool { return run != "" && strings.HasPrefix(text, run+"@") }
