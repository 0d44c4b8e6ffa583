package store

import (
	"bytes"
	"context"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// RunSummary is the state of a run at one moment.
type RunSummary struct {
	Run     mapping.Run
	Thread  mapping.Thread
	Now     time.Time // the database's time
	Holder  string    // the process that holds it; "" if there is none
	Here    bool      // this process holds it
	Owner   string    // this process
	Until   time.Time // end of the holder's lease; zero if it never ends or there is no holder
	Before  []mapping.Run
	Ahead   int           // number of the thread's runs that it waits for; Before contains the first of them
	Update  string        // the process that holds the thread for a state update (States.Hold); "" if there is none
	Earlier int           // earlier pending runs of the agent
	Steps   int           // number of updates logged, while it is running
	Last    mapping.Event // the last event, without data
}

// standingBefore limits the runs in Before.
const standingBefore = 10

// Standing returns the summary of a run. threadID may be "".
func (s *Runs) Standing(ctx context.Context, threadID, runID string) (st RunSummary, err error) {
	err = s.base.DB.Read(ctx, func(t *sqldb.Tx) error {
		row, err := findRun(t, tables.ScopeOf(ctx), threadID, runID)
		if err != nil {
			return err
		}
		th, err := readThreadByKey(t, row.thread)
		if err != nil {
			return err
		}
		st = RunSummary{Run: row.Run, Thread: th.Thread, Now: sqldb.TimeOf(t.Now), Holder: row.holder, Here: row.holder != "" && row.holder == s.base.Owner, Owner: s.base.Owner}
		for _, part := range []func(*sqldb.Tx, *runRow) error{st.queue, st.lease, st.progress} {
			if err := part(t, row); err != nil {
				return err
			}
		}
		return nil
	})
	return st, err
}

// queue determines what a pending run waits for: see startable.
func (st *RunSummary) queue(t *sqldb.Tx, row *runRow) error {
	if row.Status != mapping.RunPending {
		return nil
	}
	var keys []int64
	err := t.Each(`SELECT o.id FROM runs r JOIN runs o ON o.thread = r.thread WHERE r.id = $1 AND o.ended_us = 0 AND o.id <> r.id
 AND (o.concurrent = 0 OR r.concurrent <> 1) AND (o.status = 'running' OR (o.id < r.id AND o.run_after_us <= $2)) ORDER BY o.status DESC, o.id`,
		sqldb.In{row.key, t.Now}, func(scan func(...any) error) error {
			var key int64
			err := scan(&key)
			keys = append(keys, key)
			return err
		})
	if err != nil {
		return err
	}
	st.Ahead = len(keys)
	for _, key := range keys[:min(len(keys), standingBefore)] {
		before, err := readRun(t, `r.id = $1`, key)
		if err != nil {
			return err
		}
		st.Before = append(st.Before, before.Run)
	}
	if err := ifAny(t.Get(`SELECT holder FROM updates WHERE thread = $1`, sqldb.In{row.thread}, sqldb.Out{&st.Update})); err != nil {
		return err
	}
	return t.Get(`SELECT count(*) FROM runs WHERE status = 'pending' AND agent = $1 AND id < $2`, sqldb.In{row.Agent, row.key}, sqldb.Out{&st.Earlier})
}

func (st *RunSummary) lease(t *sqldb.Tx, row *runRow) error {
	if row.holder == "" || !t.Shared() {
		return nil
	}
	until, ok, err := sqldb.LeaseEnd(t, row.holder)
	if ok {
		st.Until = sqldb.TimeOf(until)
	} else if err == nil {
		st.Until = st.Now // the process has ended
	}
	return err
}

// progress determines how far a run has come.
func (st *RunSummary) progress(t *sqldb.Tx, row *runRow) error {
	if row.Status == mapping.RunPending {
		return nil
	}
	if row.Status == mapping.RunRunning {
		if err := st.steps(t, row); err != nil {
			return err
		}
	}
	return t.Each(`SELECT seq, '', kind, at_us, head, NULL FROM events WHERE thread = $1 AND seq > $2 AND seq <= $3 AND run = $4 ORDER BY seq DESC LIMIT 1`,
		sqldb.In{row.thread, row.from, row.to(), row.key}, func(scan func(...any) error) error { return scanEvent(&st.Last, row.thread, scan) })
}

// steps counts the updates outside of subgraphs. It reads all of them, which may be ten thousand, so it decodes a head
// only if it may contain a namespace.
func (st *RunSummary) steps(t *sqldb.Tx, row *runRow) error {
	return t.Each(`SELECT seq, head FROM events WHERE thread = $1 AND seq > $2 AND seq <= $3 AND run = $4 AND kind = 'update'`, sqldb.In{row.thread, row.from, row.to(), row.key},
		func(scan func(...any) error) error {
			var raw []byte
			var seq int64
			if err := scan(&seq, sqldb.Unsealed(&raw, colEventHead, row.thread, &seq)); err != nil {
				return err
			}
			var head struct{ NS []string }
			if bytes.Contains(raw, []byte(`"ns"`)) {
				if err := decode(raw, &head); err != nil {
					return err
				}
			}
			if len(head.NS) == 0 {
				st.Steps++
			}
			return nil
		})
}
