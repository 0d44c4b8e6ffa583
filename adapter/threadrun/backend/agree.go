package backend

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// This file is how a run ends without asking for anything, and how the thread
// is known again at the next run. A stream tells every state, but no
// checkpoint's id; the state that is read tells by which run and step it was
// made, which is as good.

// done tells whether the stream that was read to its proper end has told the
// end of the run: the newest state has nothing behind it and nobody was asked.
// Frames that may have been missed, or whatever else is not quite that, leave
// it to finish to ask.
func (s *session) done() bool {
	return s.over && !s.rejoined && !s.paused && len(s.asked) == 0 && s.link.RemoteRun != ""
}

// endTold ends a run whose stream told everything.
func (s *session) endTold() error {
	s.link.RemoteCheckpoint, s.link.RemoteMark = "", mark(s.link.RemoteRun, s.step)
	link := s.link
	head := mapping.Head{Link: &link, Outcome: &mapping.Outcome{Status: mapping.RunSuccess}}
	if err := s.emit(mapping.Event{Kind: mapping.KindEnd, Head: head}); err != nil {
		return err
	}
	return errEnded
}

// mark names the last checkpoint of an upstream run.
func mark(run string, step int) string { return run + "@" + strconv.Itoa(step) }

// markOf reports whether a mark names a checkpoint of the upstream run.
func markOf(text, run string) bool { return run != "" && strings.HasPrefix(text, run+"@") }

// agreed tells whether the upstream thread still holds what both sides agreed
// on: the checkpoint that was noted, or the one with the mark, or at least a
// state with nothing pending that is the same as ours.
func (s *session) agreed(st stateWire) bool {
	if s.link.RemoteMark == "" {
		return st.head() == s.link.RemoteCheckpoint || st.head() == ""
	}
	var meta checkpointMeta
	_ = json.Unmarshal(st.Metadata, &meta)
	switch {
	case len(st.Next) > 0 || len(questions(st)) > 0:
		return false
	case meta.Source == "loop" && mark(meta.RunID, meta.Step) == s.link.RemoteMark:
		return true
	}
	return s.t.State != nil && sameValues(s.t.State.JSON(), st.Values)
}

// sameValues compares two states by meaning.
func sameValues(a, b json.RawMessage) bool { return rawjson.Contains(a, b) && rawjson.Contains(b, a) }
