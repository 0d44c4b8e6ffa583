package backend

import (
	"errors"

	"github.com/apbridge/apbridge/mapping"
)

// replace prepares a new thread in place of one that the server no longer has. The local state is the record, and the
// upstream thread a working copy. An answer cannot be given there, since the question is gone. It reports whether the
// thread is replaced.
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
