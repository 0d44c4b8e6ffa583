package store

import (
	"context"
	"iter"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// PolledRun is an active run whose steps a client must request. It lacks the request that created the run.
type PolledRun struct {
	ID, ThreadID  string
	Agent         string
	Tenant, Owner string
	UpdatedAt     time.Time // of mapping.Run
}

// Pulled yields the parked runs and, unless parkedOnly is set, the active ones that continue by themselves while their
// steps are handed out. It covers all tenants. It reads page by page, so it may miss a run that is parked during the
// iteration and yield one that continues. It can be ranged over once.
func (s *Claims) Pulled(ctx context.Context, parkedOnly bool) iter.Seq2[PolledRun, error] {
	return func(yield func(PolledRun, error) bool) {
		p := pulledPage{parkedOnly: parkedOnly}
		for !p.last {
			if err := s.base.DB.ReadOne(ctx, p.read); err != nil {
				yield(PolledRun{}, err)
				return
			}
			for _, r := range p.runs {
				if !yield(r, nil) {
					return
				}
			}
		}
	}
}

// pulledPageSize is the number of active runs read at a time.
const pulledPageSize = 500

// placeOpen is the position of an active run in the index runs_open, within its thread.
const placeOpen = `(CASE WHEN r.status = 'running' AND r.concurrent <> 1 THEN 0 ELSE r.id END)`

// selectPulled follows the index of active runs, since any other order would scan all ended ones. The options, which
// may be long, are read only if they are needed to decide how the run continues.
const selectPulled = `SELECT r.thread, ` + placeOpen + `, r.run_id, h.thread_id, r.agent, r.tenant, r.owner, r.updated_us, r.parked, CASE WHEN r.parked = 0 THEN r.options END
 FROM runs r JOIN threads h ON h.id = r.thread
 WHERE r.ended_us = 0 AND r.thread >= $1 AND (r.thread > $1 OR ` + placeOpen + ` > $2) AND r.parked >= $3 ORDER BY r.thread, ` + placeOpen + ` LIMIT CAST($4 AS BIGINT)`

// pulledPage is a page of Pulled. Each read replaces it by the next one.
type pulledPage struct {
	parkedOnly    bool
	thread, place int64 // of the last run read
	runs          []PolledRun
	last          bool
}

func (p *pulledPage) read(t *sqldb.Tx) error {
	next := pulledPage{parkedOnly: p.parkedOnly, thread: p.thread, place: p.place} // a read may be repeated
	parked, seen := 0, 0
	if p.parkedOnly {
		parked = 1
	}
	err := t.Each(selectPulled, sqldb.In{p.thread, p.place, parked, int64(pulledPageSize)}, func(scan func(...any) error) error {
		seen++
		return next.add(scan)
	})
	if next.last = seen < pulledPageSize; err == nil {
		*p = next
	}
	return err
}

func (p *pulledPage) add(scan func(...any) error) error {
	var r PolledRun
	var parked bool
	var options []byte
	var updated int64
	err := scan(&p.thread, &p.place, &r.ID, &r.ThreadID, &r.Agent, &r.Tenant, &r.Owner, &updated, &parked, sqldb.Unsealed(&options, colRunOptions, &r.ID))
	if err != nil {
		return err
	}
	r.UpdatedAt = sqldb.TimeOf(updated)
	var o mapping.RunOptions
	if !parked {
		err = decode(options, &o)
	}
	if parked || o.Stepping == mapping.SteppingFree {
		p.runs = append(p.runs, r)
	}
	return err
}
