package artifact

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// otherLine is stored as the run that hid a file if a fork hid it: the file belongs to a line that the thread has left.
// It is not listed, but can still be read by its id, which the states of that line contain.
const otherLine = -2

// Some reports whether a thread has files that ChangeLine may change.
func Some(t *sqldb.Tx, thread int64) (some bool, err error) {
	err = t.Get(`SELECT EXISTS (SELECT 1 FROM artifacts WHERE thread = $1 AND staged <> 1)`, sqldb.In{thread}, sqldb.Out{&some})
	return some, err
}

// ChangeLine switches the files of a thread from one line of its history to another, given the state at the end of
// each: files that differ between the states, and files attached to messages that are in only one of them. Uploads of
// clients belong to no line and remain.
func ChangeLine(quotas *tables.Quotas, t *sqldb.Tx, thread int64, was, now *state.Fold) error {
	l := lineChange{Tx: t, quotas: quotas, thread: thread, now: now}
	if err := l.stated(was); err != nil {
		return err
	}
	return l.attached(was)
}

// lineChange switches a thread's files to those of another line.
type lineChange struct {
	*sqldb.Tx
	quotas *tables.Quotas
	thread int64
	now    *state.Fold
}

// stated switches the files of values.files.
func (l lineChange) stated(was *state.Fold) error {
	list, _ := rule.ChangedFiles(was, l.now)
	for _, f := range list {
		if err := l.put(f); err != nil {
			return err
		}
	}
	return nil
}

// put makes a path match the new state.
func (l lineChange) put(f rule.File) error {
	row, there, err := visibleAt(l.Tx, l.thread, f.Path)
	switch {
	case err != nil || there && (row.run == 0 || !f.Deleted && isFile(row.Artifact, f)):
		return err
	case there:
		if err := l.hide(row); err != nil {
			return err
		}
	}
	if f.Deleted {
		return nil
	}
	old, err := l.hidden(`a.path = $2`, f.Path)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(old, func(r artifactRow) bool { return isFile(r.Artifact, f) }); i >= 0 {
		return l.show(old[i])
	}
	if f.Reference != "" {
		return nil // its bytes were removed with their history
	}
	_, err = writeFile(l.quotas, l.Tx, l.thread, ByUpdate, FileWrite{Content: f.Content, Artifact: mapping.Artifact{Path: f.Path, MIMEType: f.MIMEType}})
	return err
}

// isFile reports whether an artifact is the file that a state has at its path.
func isFile(a mapping.Artifact, f rule.File) bool {
	if f.Reference != "" {
		return f.ModifiedAt.IsZero() || a.ModifiedAt.UnixMilli() == f.ModifiedAt.UnixMilli()
	}
	sum := sha256.Sum256(f.Content)
	return a.Sum == hex.EncodeToString(sum[:])
}

// attached switches the files attached to messages.
func (l lineChange) attached(was *state.Fold) error {
	left, come := rule.HeldSums(was.Messages()), rule.HeldSums(l.now.Messages())
	for sum := range left {
		if come[sum] {
			continue
		}
		err := l.each(`a.staged = 0 AND a.run <> 0 AND a.agent_created = 0 AND a.sum = $2`, sum, func(row artifactRow) error {
			if len(rule.FilesAt(l.now, row.Path)) > 0 {
				return nil
			}
			return l.hide(row)
		})
		if err != nil {
			return err
		}
	}
	for sum := range come {
		if left[sum] {
			continue
		}
		err := l.each(`a.staged = -1 AND a.until_run = -2 AND a.agent_created = 0 AND a.sum = $2`, sum, func(row artifactRow) error {
			if _, taken, err := visibleAt(l.Tx, l.thread, row.Path); err != nil || taken {
				return err
			}
			return l.show(row)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// hidden returns the files of other lines that match a condition, newest first.
func (l lineChange) hidden(where string, arg any) (list []artifactRow, err error) {
	err = l.each(`a.staged = -1 AND a.until_run = -2 AND `+where, arg, func(row artifactRow) error {
		list = append(list, row)
		return nil
	})
	slices.Reverse(list)
	return list, err
}

// each reads the matching rows and then calls do for each.
func (l lineChange) each(where string, arg any, do func(artifactRow) error) error {
	var list []artifactRow
	err := l.Each(`SELECT `+artifactColumns+` WHERE a.thread = $1 AND `+where+` ORDER BY a.id`, sqldb.In{l.thread, arg}, func(scan func(...any) error) error {
		var row artifactRow
		err := row.scan(scan)
		list = append(list, row)
		return err
	})
	for i := 0; i < len(list) && err == nil; i++ {
		err = do(list[i])
	}
	return err
}

func (l lineChange) hide(row artifactRow) error {
	return l.Put(`UPDATE artifacts SET staged = -1, until_run = $2 WHERE id = $1`, row.key, otherLine)
}

// show makes a file visible again. It inserts a new row, since the order of a path's rows is its history (changes).
func (l lineChange) show(row artifactRow) error {
	if err := l.Put(`DELETE FROM artifacts WHERE id = $1`, row.key); err != nil {
		return err
	}
	return insertArtifact(l.Tx, l.thread, row.run, row.blob, row.Artifact, false)
}
