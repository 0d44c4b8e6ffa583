package backend

// This file reads the progress of the run before this call of Run from the log.

// parked reports whether this is a lockstep run that already did a step and continues with the next one. If the run has
// no log, the steps of its task are used. For a follow-up or an answer, those steps belong to an earlier run.
func (j *job) parked() bool {
	if j.link.RemoteRun == "" {
		return false
	}
	first := j.t.Resume || j.t.Run.Options.FollowUp
	return j.t.Run.Parked || j.logged(j.link.RemoteRun) || (j.t.Done > 0 && !first)
}

// logged reports whether this run's log names the upstream run.
func (j *job) logged(run string) bool {
	for _, ev := range j.t.After {
		if run != "" && ev.Head.Link != nil && ev.Head.Link.RemoteRun == run {
			return true
		}
	}
	return false
}

// linked reports whether this run's log names an upstream thread.
func (j *job) linked() bool {
	for _, ev := range j.t.After {
		if ev.Head.Link != nil && ev.Head.Link.Remote != "" {
			return true
		}
	}
	return false
}
