package backend

import (
	"context"
	"strconv"

	"github.com/apbridge/apbridge/mapping"
)

// pickUp gets back to what an earlier call of Run began and did not end. It
// returns false when there is nothing: then the run is begun. What the log
// holds is not asked for twice: the stream is continued after the last frame
// that was logged, and a request whose result is missing is looked for, never
// sent again.
func (s *session) pickUp() (bool, error) {
	s.replay()
	switch {
	case s.t.OneStep && !s.t.Open && s.parked():
		s.further = true
		s.forget()
		return false, nil
	case !s.t.Open && !s.linked():
		return false, nil // nothing was sent
	case !s.t.OneStep && s.logged(s.link.RemoteRun):
		s.took = s.link.RemoteRun
		return true, nil
	}
	return s.search()
}

// parked tells whether this is a lockstep run that did a step already and is
// asked for one more. Without a log of the run, the steps of its task tell;
// those of a follow-up or an answer are of an earlier run.
func (s *session) parked() bool {
	if s.link.RemoteRun == "" {
		return false
	}
	first := s.t.Resume || s.t.Run.Options.FollowUp
	return s.t.Run.Parked || s.logged(s.link.RemoteRun) || (s.t.Done > 0 && !first)
}

// replay reads out of the log how far the run had come.
func (s *session) replay() {
	for _, ev := range s.t.After {
		if l := ev.Head.Link; l != nil {
			if l.RemoteRun != s.link.RemoteRun {
				s.forget()
			}
			s.link = *l
		}
		s.note(ev)
	}
}

// note keeps what the end of the run will need of an event.
func (s *session) note(ev mapping.Event) {
	if ev.Head.UpstreamID != "" {
		s.lastID = ev.Head.UpstreamID
	}
	s.made.note(ev)
	switch {
	case ev.Kind == mapping.KindUpdate && ev.Head.NS == nil && !emptyDelta(ev.Data):
		s.outputs++
	case ev.Kind == mapping.KindState && ev.Head.Checkpoint != nil && ev.Head.Checkpoint.Source != "upstream":
		s.checkpoints++
		s.step = ev.Head.Checkpoint.Step
		s.told = len(ev.Head.Checkpoint.Next) == 0
	case ev.Kind == mapping.KindInterrupt:
		s.told = true
		s.asked = append(s.asked, ev.Head.Interrupts...)
	}
}

// logged tells whether this run's log names the upstream run.
func (s *session) logged(run string) bool {
	for _, ev := range s.t.After {
		if run != "" && ev.Head.Link != nil && ev.Head.Link.RemoteRun == run {
			return true
		}
	}
	return false
}

// linked tells whether this run's log names an upstream thread.
func (s *session) linked() bool {
	for _, ev := range s.t.After {
		if ev.Head.Link != nil && ev.Head.Link.Remote != "" {
			return true
		}
	}
	return false
}

// forget drops what belongs to the upstream run before.
func (s *session) forget() {
	s.lastID, s.checkpoints, s.outputs, s.paused, s.told, s.over, s.asked, s.held = "", 0, 0, false, false, false, nil, nil
}

// search looks for the upstream run of a request that may have been sent. Where the
// process may have died behind that request, false is no answer: the run is found, or
// its outcome is unknown.
func (s *session) search() (bool, error) {
	linked := s.linked() || s.link.Remote != "" && s.t.Values == nil
	if !linked {
		s.link = mapping.Link{Remote: s.threadID()}
	}
	mustBeThere := linked && !(s.linked() && s.mayCreate())
	before := ""
	if s.t.OneStep && s.link.RemoteCheckpoint != "" {
		before = s.link.RemoteRun // that step was read to its end
	}
	run, err := s.lookForRun(before, mustBeThere)
	switch {
	case err != nil:
		return false, s.unresolved(nil, err)
	case run != nil:
		s.took = run.ID
		return true, s.found(run.ID)
	case s.t.Open:
		return false, s.unresolved(nil, nil)
	}
	if !linked {
		s.link = s.t.Link
	}
	return false, nil
}

// found goes back to an upstream run whose id the log may not have.
func (s *session) found(run string) error {
	if run == s.link.RemoteRun {
		return nil
	}
	s.forget()
	return s.began(run)
}

// findRun looks for the newest upstream run that was made for this run; nil
// when there is none. In lockstep there is one for every step.
func (s *session) findRun(ctx context.Context) (*runWire, error) {
	list, err := s.b.runs(ctx, s.link.Remote)
	if err != nil {
		return nil, err
	}
	var ours, unmarked []runWire
	for _, r := range list {
		switch {
		case r.ID == "":
		case r.Metadata == nil:
			unmarked = append(unmarked, r)
		case r.ours() == s.t.Run.ID:
			ours = append(ours, r)
		}
	}
	if len(unmarked) > 0 {
		return s.judge(newest(unmarked))
	}
	return newest(ours), nil
}

// errUnmarked is why a run cannot be told from those of others.
var errUnmarked = mapping.Errorf(mapping.Upstream, mapping.CodeBadUpstream, "its list of runs does not say for whom each was made")

// judge is findRun for a server that does not repeat the metadata of its runs. The newest
// run is this one's where the log names it, or where nobody else knows the thread.
func (s *session) judge(r *runWire) (*runWire, error) {
	switch {
	case s.logged(r.ID), s.ownThread():
		return r, nil
	case markOf(s.t.Link.RemoteMark, r.ID):
		return nil, nil // of the run before, and nothing came after it
	}
	return nil, s.unknown(errUnmarked)
}

// ownThread reports whether the upstream thread was made for this attempt of this run.
func (s *session) ownThread() bool {
	return s.link.Remote == mapping.MessageID(s.t.Run.ID, "thread/"+strconv.Itoa(s.t.Run.Attempt))
}
