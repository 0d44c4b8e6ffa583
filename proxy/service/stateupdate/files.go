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

// fileChanges are what an update of a state does to the thread's artifacts.
type fileChanges struct {
	writes []artifact.FileWrite
	drop   []string // paths that are gone
}

// files are the artifacts that an update brings: those of values.files, as of any state, and those within messages, as
// of an input. Of the latter a thread that a graph has worked on gets none, and there a file that cannot be an artifact
// is the graph's business: it stays in the state alone.
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

// filesOn are those of a thread's files that stay where it goes on from an older state (store.States.Append): uploads,
// those that the state has, and those in its messages.
func filesOn(at *state.Fold, list []mapping.Artifact) []mapping.Artifact {
	held := rule.HeldSums(at.Messages())
	return slices.DeleteFunc(list, func(a mapping.Artifact) bool {
		upload := !a.AgentCreated && !a.Brought
		return !upload && !(a.Brought && held[a.Sum]) && len(rule.FilesAt(at, a.Path)) == 0
	})
}

// statedFiles are the changes of values.files from one state to the next. A file that is kept elsewhere, and one that
// cannot be an artifact, changes none.
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

// checkStated refuses values.files that no artifact can be made of, as they are in an input.
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

// graphsWorked reports whether an agent that has a state of its own knows the thread.
func (u *attempt) graphsWorked(ctx context.Context) (bool, error) {
	links, err := u.Store.Links.List(ctx, u.thread.ID)
	for _, l := range links {
		if u.isGraph(l.Agent) {
			return true, nil
		}
	}
	return false, err
}
