package store

import (
	"context"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// maxActivity is the maximum number of ended runs of a tenant, and of unfinished ones, that Activity reads.
const maxActivity = 10_000

// The queries of Activity read only indexes, and then the threads of runs if the caller sees only some.
const (
	selectEnded = `SELECT agent, status, created_us, ended_us, input_tokens, output_tokens, cost_micros, thread FROM runs
 WHERE tenant = $1 AND ended_us > 0 AND ended_us >= $2 ORDER BY ended_us DESC LIMIT $3`
	selectOpen = `SELECT agent, status, parked, thread FROM runs WHERE ended_us = 0 AND tenant = $1 LIMIT $2`
)

// Activity returns the newest runs that ended since a time, and counts the unfinished ones.
func (s *Runs) Activity(ctx context.Context, since time.Time) (a mapping.Activity, err error) {
	sc := tables.ScopeOf(ctx)
	err = s.base.DB.Read(ctx, func(t *sqldb.Tx) error {
		a = mapping.Activity{Now: sqldb.TimeOf(t.Now)}
		if err := readEnded(t, sc, since, &a); err != nil {
			return err
		}
		return readOpen(t, sc, &a)
	})
	return a, err
}

// seenAmong completes a query for the runs r of a selection: it adds the column 1 for those in the scope, and 0 for
// others.
func seenAmong(sc tables.Scope, selection string, args ...any) (text string, all sqldb.In) {
	if sc.Whole() {
		return `SELECT r.*, 1 FROM (` + selection + `) r`, args
	}
	where, all := sc.Narrow(`h.tenant = $1`, args...)
	return `SELECT r.*, CASE WHEN ` + where + ` THEN 1 ELSE 0 END FROM (` + selection + `) r JOIN threads h ON h.id = r.thread`, all
}

func readEnded(t *sqldb.Tx, sc tables.Scope, since time.Time, a *mapping.Activity) error {
	text, args := seenAmong(sc, selectEnded, sc.Tenant, sqldb.Micros(since), maxActivity)
	count := 0
	err := t.Each(text, args, func(scan func(...any) error) error {
		var r mapping.EndedRun
		var created, ended, cost, thread int64
		var seen bool
		if err := scan(&r.Agent, (*string)(&r.Status), &created, &ended, &r.Input, &r.Output, &cost, &thread, &seen); err != nil {
			return err
		}
		if count++; seen {
			r.CreatedAt, r.EndedAt, r.Cost = sqldb.TimeOf(created), sqldb.TimeOf(ended), dollarsOf(cost)
			a.Ended = append(a.Ended, r)
		}
		return nil
	})
	a.Whole = count < maxActivity
	return err
}

func readOpen(t *sqldb.Tx, sc tables.Scope, a *mapping.Activity) error {
	text, args := seenAmong(sc, selectOpen, sc.Tenant, maxActivity)
	of := map[string]int{}
	return t.Each(text, args, func(scan func(...any) error) error {
		var agent, status string
		var thread int64
		var parked, seen bool
		if err := scan(&agent, &status, &parked, &thread, &seen); err != nil || !seen {
			return err
		}
		n, ok := of[agent]
		if !ok {
			n = len(a.Open)
			of[agent] = n
			a.Open = append(a.Open, mapping.OpenRuns{Agent: agent})
		}
		switch o := &a.Open[n]; {
		case mapping.RunStatus(status) == mapping.RunPending:
			o.Queued++
		case parked:
			o.Parked++
		default:
			o.Running++
		}
		return nil
	})
}
