package store

import (
	"context"

	"github.com/apbridge/apbridge/proxy/store/item"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// Backlog counts unfinished work of all tenants and processes.
type Backlog struct {
	Runs     []RunCount // only for agents with such runs
	Webhooks int        // still to be delivered, now or later
	Items    item.WithoutVectors
}

// RunCount is the number of an agent's runs in one state: "queued" (to start now or later), "running" or "parked".
type RunCount struct {
	Agent, State string
	Runs         int
}

// The queries of Backlog. Each uses an index that contains only unfinished rows.
const (
	countQueued  = `SELECT agent, 'queued', count(*) FROM runs WHERE status = 'pending' GROUP BY agent`
	countRunning = `SELECT agent, CASE WHEN parked = 0 THEN 'running' ELSE 'parked' END AS state, count(*) FROM runs WHERE ended_us = 0 AND status = 'running' GROUP BY agent, parked`
	countHooks   = `SELECT count(*) FROM outbox WHERE done_us = 0`
)

// Backlog counts unfinished work. It covers all tenants and processes.
func (s *Store) Backlog(ctx context.Context) (found Backlog, err error) {
	err = s.base.DB.Read(ctx, func(t *sqldb.Tx) error {
		found = Backlog{}
		for _, text := range []string{countQueued, countRunning} {
			if err := found.count(t, text); err != nil {
				return err
			}
		}
		return t.Get(countHooks, nil, sqldb.Out{&found.Webhooks})
	})
	if err == nil {
		found.Items, err = s.ItemMaintenance.WithoutVectors(ctx)
	}
	return found, err
}

func (b *Backlog) count(t *sqldb.Tx, text string) error {
	return t.Each(text, nil, func(scan func(...any) error) error {
		var c RunCount
		err := scan(&c.Agent, &c.State, &c.Runs)
		b.Runs = append(b.Runs, c)
		return err
	})
}
