package artifact

import (
	"slices"

	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// version is one of the files that a path had, visible or out of sight.
type version struct {
	key, blob  int64
	path       string
	run, until int64 // the run that wrote it, and the one that took it out of sight; 0: none
	visible    bool
	gone       bool // nothing can bring it back: it is to be deleted
}

// ByUpdate stands for the run of a file that a state update or a new thread's states brought. No run takes it back.
const ByUpdate = -1

// giveWay takes a visible file out of the way of what comes in its place (nothing, if it is removed). A run's doing can
// be taken back, so what was there before it is kept; what a client does cannot, and nothing before it is needed any
// more.
func giveWay(t *sqldb.Tx, thread int64, old artifactRow, run int64) error {
	switch {
	case run == 0:
		return dropVersions(t, thread, old.Path)
	case old.run == run:
		return dropArtifact(t, old.key, old.blob)
	}
	return t.Put(`UPDATE artifacts SET staged = -1, until_run = $2 WHERE id = $1`, old.key, run)
}

// dropVersions removes a path with all it was.
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

// UndoRun takes back what a run did to the files of its thread: each is what it would be without it.
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

// undoFile has what became of a path happen again without what a run did.
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

// replay works out what the versions of a path are without a run's: the rules are those of giveWay.
func replay(list []version, without int64) {
	var now *version
	for _, d := range deeds(list) {
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

// deed is one change of a path: a version was put there, or what was there was removed (nil).
type deed struct {
	run int64
	put *version
}

// deeds are told by the versions: one that was not taken out of sight by the run that wrote the next was removed, and
// the path was free until then.
func deeds(list []version) (done []deed) {
	for i := range list {
		v := &list[i]
		done = append(done, deed{v.run, v})
		if !v.visible && (i+1 == len(list) || list[i+1].run != v.until) {
			done = append(done, deed{v.until, nil})
		}
	}
	return done
}

// KeepOfRun lets what a run did to files stay when the run goes: others stand on it.
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

// ForgetVersions drops what runs replaced that ended at before or earlier: it goes with the checkpoints that had it. So
// does what such runs wrote on lines that the thread left.
func ForgetVersions(t *sqldb.Tx, thread, before int64) error {
	list, err := readVersions(t, `thread = $1 AND staged = -1 AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.id = CASE until_run WHEN -2 THEN run ELSE until_run END AND (r.ended_us = 0 OR r.ended_us > $2))`, thread, before)
	for i := 0; i < len(list) && err == nil; i++ {
		err = dropArtifact(t, list[i].key, list[i].blob)
	}
	return err
}
