package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// Agents stores facts about the configured agents. It does not call them.
type Agents struct {
	base *base
	seen sync.Map // by name: the time.Time of Seen, which never changes
}

// Fact returns the last answer an agent gave about itself for the query what. It returns sql.ErrNoRows if there is
// none. Not scoped by tenant.
func (s *Agents) Fact(ctx context.Context, agent, what string) (body json.RawMessage, err error) {
	err = s.base.DB.ReadOne(ctx, func(t *sqldb.Tx) error {
		return t.Get(`SELECT body FROM agent_facts WHERE agent = $1 AND what = $2`, sqldb.In{agent, what}, sqldb.Out{rawOf(&body)})
	})
	return body, err
}

// KeepFact stores an agent's answer about itself.
func (s *Agents) KeepFact(ctx context.Context, agent, what string, body json.RawMessage) error {
	return s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		_, err := t.Exec(`INSERT INTO agent_facts (agent, what, body, at_us) VALUES ($1, $2, $3, $4)
 ON CONFLICT (agent, what) DO UPDATE SET body = excluded.body, at_us = excluded.at_us`, agent, what, notNull(body), t.Now)
		return err
	})
}

// Seen returns when this database first saw a configured agent; the first call stores the current time. Not scoped by
// tenant.
func (s *Agents) Seen(ctx context.Context, name string) (at time.Time, err error) {
	if known, ok := s.seen.Load(name); ok {
		return known.(time.Time), nil
	}
	defer func() {
		if err == nil {
			s.seen.Store(name, at)
		}
	}()
	// The agent is almost always known, and a read must not need a writable disk.
	var us int64
	err = s.base.DB.ReadOne(ctx, func(t *sqldb.Tx) error {
		return t.Get(`SELECT at_us FROM agents_seen WHERE name = $1`, sqldb.In{name}, sqldb.Out{&us})
	})
	if !errors.Is(err, sql.ErrNoRows) {
		return sqldb.TimeOf(us), err
	}
	err = s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		if _, err := t.Exec(`INSERT INTO agents_seen (name, at_us) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`, name, t.Now); err != nil {
			return err
		}
		var us int64
		err := t.Get(`SELECT at_us FROM agents_seen WHERE name = $1`, sqldb.In{name}, sqldb.Out{&us})
		at = sqldb.TimeOf(us)
		return err
	})
	return at, err
}
