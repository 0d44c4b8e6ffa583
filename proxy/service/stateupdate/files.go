package stateupdate

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/store/artifact"
)

// fileChanges are the changes that a state update makes to the thread's artifacts.
type fileChanges struct {
	writes []artifact.FileWrite
	drop   []string // removed paths
}

// files returns the artifacts of an update: those of values.files, as in any state, and those in messages, as in an
// input. If a graph has worked on the thread, files in messages do not become artifacts, and a file that cannot become
// an artifact is not refused but kept only in the state.
func (u *attempt) files(ctx context.Context, said []json.RawMessage, before, after *state.Fold) (fileChanges, error) {
	held := rule.HeldAttachments(said) > 0
	changed := statedFiles(u.thread.ID, before, after)
	if !held && filesOf(u.asked) == 0 {
		return changed, nil
	}
	if graphs, err := u.graphsWorked(ctx); err != nil || graphs {
		return changed, err
	}
	attached, err := u.attached(u.thread.ID, said, after, func() ([]mapping.Artifact, error) {
		list, _, err := u.Store.Artifacts.List(ctx, u.thread.ID, 0, 0)
		if u.forks() {
			list = filesOn(before, list)
		}
		return list, err
	})
	if err == nil {
		err = checkStated(u.asked)
	}
	changed.writes = append(changed.writes, attached...)
	return changed, err
}

// filesOn returns the files that remain if a thread continues from an older state (store.States.Append): uploads, files
// of the state, and files in its messages.
func filesOn(at *state.Fold, list []mapping.Artifact) []mapping.Artifact {
	held := rule.HeldSums(at.Messages())
	return slices.DeleteFunc(list, func(a mapping.Artifact) bool {
		upload := !a.AgentCreated && !a.Brought
		return !upload && !(a.Brought && held[a.Sum]) && len(rule.FilesAt(at, a.Path)) == 0
	})
}

// statedFiles returns the changes of values.files between two states. It ignores files that are stored elsewhere and
// those that cannot become artifacts.
func statedFiles(threadID string, before, after *state.Fold) (c fileChanges) {
	list, _ := rule.ChangedFiles(before, after)
	for _, f := range list {
		switch {
		case f.Deleted:
			c.drop = append(c.drop, f.Path)
		case f.Reference == "":
			c.writes = append(c.writes, artifact.FileWrite{Content: f.Content, Artifact: mapping.Artifact{
				ID: rule.ArtifactID(threadID, f.Path), Path: f.Path, MIMEType: f.MIMEType,
			}})
		}
	}
	return c
}

// checkStated refuses values.files that cannot become artifacts, as in an input.
func checkStated(u adapter.StateUpdate) error {
	for _, values := range u.All() {
		if files := rawjson.Get(values, state.KeyFiles); rawjson.Kind(files) == '{' {
			if err := rule.CheckStatedFiles(files); err != nil {
				return err
			}
		}
	}
	return nil
}

// graphsWorked reports whether an agent with its own state knows the thread.
func (u *attempt) graphsWorked(ctx context.Context) (bool, error) {
	links, err := u.Store.Links.List(ctx, u.thread.ID)
	for _, l := range links {
		if u.isGraph(l.Agent) {
			return true, nil
		}
	}
	return false, err
}
