package store

import (
	"context"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// Displaced is a run that a newer one replaces.
type Displaced struct {
	mapping.Run
	RollBack bool   // the run is also to be removed
	Newer    string // the run that starts afterwards; "" if none waits for it
}

// stopCancel is the stop note of a run that is only to be stopped.
const stopCancel = "cancel"

// rollBack begins a stop note that outlives the end of its run, until its removal.
const rollBack = "rollback"

// displacing returns the stop note for a run that a newer one displaces. starts means that the newer one starts once
// the other is removed.
func displacing(newer mapping.Run, starts bool) string {
	switch {
	case newer.Multitask != mapping.StrategyRollback:
		return stopCancel
	case starts:
		return rollBack + " " + newer.ID
	}
	return rollBack
}

// Displaced lists the runs with a stop note, including ended runs that are to be rolled back. It covers all tenants.
func (s *Runs) Displaced(ctx context.Context) (list []Displaced, err error) {
	err = s.base.DB.ReadOne(ctx, func(t *sqldb.Tx) error {
		return t.Each(`SELECT r.stop, `+runColumns+` WHERE r.stop <> '' ORDER BY r.id`, nil, func(scan func(...any) error) error {
			var row runRow
			var stop string
			err := row.scan(func(to ...any) error { return scan(append(sqldb.Out{&stop}, to...)...) })
			d := Displaced{Run: row.Run, RollBack: strings.HasPrefix(stop, rollBack)}
			_, d.Newer, _ = strings.Cut(stop, " ")
			list = append(list, d)
			return err
		})
	})
	return list, err
}

// release lets the run start that waited for the removal of another, unless it also waits for further removals.
func release(t *sqldb.Tx, removed int64) error {
	var stop string
	if err := t.Get(`SELECT stop FROM runs WHERE id = $1`, sqldb.In{removed}, sqldb.Out{&stop}); err != nil {
		return err
	}
	newer, found := strings.CutPrefix(stop, rollBack+" ")
	if !found {
		return nil
	}
	return t.Put(`UPDATE runs SET run_after_us = 0 WHERE run_id = $1 AND status = 'pending'
 AND NOT EXISTS (SELECT 1 FROM runs o WHERE o.stop = $2 AND o.id <> $3)`, newer, stop, removed)
}
