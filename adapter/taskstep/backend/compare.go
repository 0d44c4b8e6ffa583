package backend

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
)

// CompareFiles compares the files of the run's thread with those of the agent's task, as the last step of a run does.
func (b *backend) CompareFiles(ctx context.Context, t *adapter.Assignment) (update mapping.Event, changed bool, err error) {
	d := downloads{runState: &runState{backend: b, ctx: ctx, assigned: t, remote: t.Link.Remote}, files: &tracker{}}
	d.site, _ = parseProfile(t.Link.Profile)
	d.files.told = true // assume that steps name files, if agents of this kind can
	if err := d.files.loadSums(d.runState); err != nil {
		return update, false, err
	}
	files, ids, err := d.compareAll()
	if err != nil {
		return update, false, err
	}
	skipped := d.files.skipped(true)
	if files == nil && skipped == nil {
		return update, false, nil
	}
	update = rule.FilesUpdate(t.Run.ID, files, skipped)
	update.Head.Artifacts = ids
	return update, true, nil
}

// compareAll downloads the files that differ from the thread's, until the context ends. If the agent cannot list its
// files, that is reported only if one of the thread's files could be outdated.
func (d *downloads) compareAll() (files json.RawMessage, ids []string, err error) {
	list, err := d.listArtifacts()
	if err != nil && !errors.Is(err, errNoList) && len(d.files.sums) > 0 {
		d.skip(mapping.SkippedFile{Reason: "The agent's list of files could not be read after the run had ended, so files may be missing or older than the agent's."}, err)
	}
	if err != nil {
		return nil, nil, nil
	}
	var changed changes
	for _, w := range d.newest(merge(nil, list, true), true) {
		err := d.takeOver(w, &changed)
		if err != nil && d.ctx.Err() != nil {
			err = d.tolerate(w, &lostError{reason: "The agent's bytes could not be read in time after the run had ended.", cause: d.ctx.Err()})
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return changed.object(), changed.ids, nil
}
