package stateupdate

import (
	"encoding/json"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/store/artifact"
)

// Supersteps returns the states that a new thread is brought along with, and the files that the newest has; those in
// their messages, too, unless the agent that the thread is for is a graph.
func (x *Updater) Supersteps(threadID, agent string, list []adapter.Superstep, now time.Time) (events []mapping.Event, files []artifact.FileWrite, err error) {
	if err := x.checkSupersteps(list); err != nil {
		return nil, nil, err
	}
	fold, err := state.NewFold(nil)
	if err != nil {
		return nil, nil, err
	}
	var all []json.RawMessage
	step := -1
	for _, super := range list {
		for _, u := range super.Updates {
			ev, next, said, err := updateEvent(fold, u, "update", step, now)
			if err != nil {
				return nil, nil, err
			}
			if err := x.checkStatedFor(agent, u); err != nil {
				return nil, nil, err
			}
			events, fold, all = append(events, ev), next, append(all, said...)
			step++
		}
	}
	files = statedFiles(threadID, nil, fold).writes
	if x.isGraph(agent) {
		return events, files, nil
	}
	attached, err := x.attached(threadID, all, fold, func() ([]mapping.Artifact, error) { return nil, nil })
	return events, append(files, attached...), err
}

// checkSupersteps refuses a history that makes much more work than its length shows: each update takes some 40 bytes of
// a request and becomes a checkpoint and an event, all in one transaction.
func (x *Updater) checkSupersteps(list []adapter.Superstep) error {
	states, files := 0, 0
	for _, super := range list {
		for _, u := range super.Updates {
			if err := x.check(u); err != nil {
				return err
			}
			states, files = states+1, files+filesOf(u)
		}
	}
	if most := x.Engine.Config().Limits.MaxSupersteps; most > 0 && states > most {
		return mapping.Errorf(mapping.Invalid, "too_many_states", "The supersteps hold %d updates, and limits.max_supersteps of this bridge allows %d. Leave out the oldest.", states, most)
	}
	return rule.CheckFileCount(files, x.Engine.Config().Limits.MaxFilesPerRequest)
}

// filesOf counts the files of an update.
func filesOf(u adapter.StateUpdate) (n int) {
	for _, values := range u.All() {
		n += rule.CountFiles(values)
	}
	return n
}
