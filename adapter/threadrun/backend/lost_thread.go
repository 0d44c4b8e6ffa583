package backend

import (
	"errors"

	"github.com/apbridge/apbridge/mapping"
)

// replace prepares a new thread to replace one that the server no longer has, and reports whether it did so. This is
// possible because the local state is the record and the upstream thread a working copy. A run that answers a question
// cannot be replaced, because the question is gone.
func (th *thread) replace() bool {
	if th.t.Resume || th.t.State == nil || th.replaced {
		return false
	}
	th.replaced, th.t.Graph.Values, th.t.Graph.Fork = true, th.t.State.JSON(), nil
	return true
}

func lostUpstream(err error) bool {
	var e *mapping.Error
	return errors.As(err, &e) && e.Code == mapping.CodeUpstreamLost
}
