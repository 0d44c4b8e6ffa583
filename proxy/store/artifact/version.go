package artifact

import (
	"slices"

	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// version is a version of the file at a path, visible or hidden.
type version struct {
	key, blob  int64
	path       string
	run, until int64 // the run that wrote it, and the one that hid it; 0 means none
	visible    bool
	gone       bool // no longer restorable and to be deleted
}

// ByUpdate is stored as the run of a file written by a state update or by the states of a new thread. No run undoes it.
const ByUpdate = -1

// giveWay makes room for a new version of a path, or removes the file. A run may be undone, so the version before it is
// kept. A client's change cannot be undone, so all earlier versions are deleted.
func giveWay(t *sqldb.Tx, thread int64, old artifactRow, run int64) error {
	switch {
	case run == 0:
		return dropVersions(t, thread, old.Path)
	case old.run == run:
		return dropArtifact(t, old.key, old.blob)
	}
	return t.Put(`UPDATE artifacts SET staged = -1, until_run = $2 WHERE id = $1`, old.key, run)
}

// dropVersions removes all versions of a path.
func dropVersions(t *sqldb.Tx, thread int64, path string) error {
	list, err := readVersions(t, `thread = $1 AND path = $2`, thread, path)
	for i := 0; i < len(list) && err == nil; i++ {
		err = dropArtifact(t, list[i].key, list[i].blob)
	}
	return err
}

func readVersions(t *sqldb.Tx, where string, args ...any) (list []version, err error) {
	err = t.Each(`SELECT id, blob, path, run, until_run, staged = 0 FROM artifacts WHERE staged <> 1 AND `+where+` ORDER BY path, id`, args,
		func(scan func(...any) error) error {
			var v version
			err := scan(&v.key, &v.blob, &v.path, &v.run, &v.until, &v.visible)
			list = append(list, v)
			return err
		})
	return list, err
}

// UndoRun restores the files of a thread as they would be without a run.
func UndoRun(t *sqldb.Tx, thread, run int64) error {
	list, err := readVersions(t, `thread = $1 AND path IN (SELECT path FROM artifacts WHERE thread = $1 AND staged <> 1 AND (run = $2 OR until_run = $2))`, thread, run)
	for len(list) > 0 && err == nil {
		n := 1
		for n < len(list) && list[n].path == list[0].path {
			n++
		}
		err, list = undoFile(t, list[:n], run), list[n:]
	}
	return err
}

// undoFile replays the history of a path without the changes of a run.
func undoFile(t *sqldb.Tx, list []version, run int64) error {
	was := slices.Clone(list)
	replay(list, run)
	for _, v := range list {
		if v.gone {
			if err := dropArtifact(t, v.key, v.blob); err != nil {
				return err
			}
		}
	}
	for i, v := range list {
		if !v.gone && v != was[i] {
			if err := t.Put(`UPDATE artifacts SET staged = $2, until_run = $3 WHERE id = $1`, v.key, sqldb.Number(v.visible)-1, v.until); err != nil {
				return err
			}
		}
	}
	return nil
}

// replay computes the state of a path's versions without a run, by the rules of giveWay.
func replay(list []version, without int64) {
	var now *version
	for _, d := range changes(list) {
		switch {
		case d.run == without && d.put != nil:
			d.put.gone = true
			continue
		case d.run == without:
			continue
		case now != nil:
			now.gone, now.visible, now.until = d.run == 0 || d.run == now.run, false, d.run
		}
		if now = d.put; now != nil {
			now.visible, now.until = true, 0
		}
	}
}

// change is one change of a path: a version was written, or the existing one was removed (nil).
type change struct {
	run int64
	put *version
}

// changes reconstructs the changes from the versions. If a version was not hidden by the run that wrote the next one, it
// was removed, and there was no file until then.
func changes(list []version) (done []change) {
	for i := range list {
		v := &list[i]
		done = append(done, change{v.run, v})
		if !v.visible && (i+1 == len(list) || list[i+1].run != v.until) {
			done = append(done, change{v.until, nil})
		}
	}
	return done
}

// KeepOfRun keeps the changes of a run when the run is deleted, because later changes depend on them.
func KeepOfRun(t *sqldb.Tx, thread, run int64) error {
	list, err := readVersions(t, `thread = $1 AND until_run = $2`, thread, run)
	for i := 0; i < len(list) && err == nil; i++ {
		err = dropArtifact(t, list[i].key, list[i].blob)
	}
	if err != nil {
		return err
	}
	return t.Put(`UPDATE artifacts SET run = 0 WHERE thread = $1 AND run = $2`, thread, run)
}

// ForgetVersions drops versions replaced by runs that ended at before or earlier, as their checkpoints are dropped,
// too. It also drops what such runs wrote on lines that the thread has left.
func ForgetVersions(t *sqldb.Tx, thread, before int64) error {
	list, err := readVersions(t, `thread = $1 AND staged = -1 AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.id = CASE until_run WHEN -2 THEN run ELSE until_run END AND (r.ended_us = 0 OR r.ended_us > $2))`, thread, before)
	for i := 0; i < len(list) && err == nil; i++ {
		err = dropArtifact(t, list[i].key, list[i].blob)
	}
	return err
}
