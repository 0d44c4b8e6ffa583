package store

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/artifact"
	"github.com/apbridge/apbridge/proxy/store/item"
	"github.com/apbridge/apbridge/proxy/store/seal"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
	"go.uber.org/zap"
)

// Options of Open.
type Options struct {
	Synchronous string // full (default) | normal
	// SecureDelete has what is deleted overwritten in a SQLite file. PostgreSQL does not look at it.
	SecureDelete bool
	// Limit is how many bytes a SQLite file may grow to, 0 for as many as the disk holds; a larger one keeps its size.
	// What does not fit is refused as mapping.StorageFull. PostgreSQL does not look at it.
	Limit int64
	// Crons is how many a tenant may have; 0: any number.
	Crons int
	// Quotas are what keys and tenants may keep; nil: any number. Refused, which may be nil, is told of what they
	// refuse.
	Quotas  tables.AllowedQuotas
	Refused func(limit, of string)
	Index   *item.Index // nil: items do not become vectors
	TTL     item.TTL
	// Committed is told of every transaction: see sqldb.Options.
	Committed func(operations int, took time.Duration)
	// Keys are those that bodies are sealed under; nil: none are.
	Keys *seal.Ring
	// Owner is the id of this process in leases; "" makes one.
	Owner string
	// Now and Passed are clocks for tests: see sqldb.Options.
	Now    func() time.Time
	Passed func() time.Duration
}

// Store is the record of everything. Safe for concurrent use. Every operation is scoped to what the principal in its
// context (mapping.PrincipalOf) may see (tables.Scope), unless its comment says otherwise. Errors the caller may show
// are *mapping.Error.
//
// Its operations are methods of its parts, one for each noun; what concerns the whole database is its own. A package
// that needs a few parts is given those.
type Store struct {
	Threads *Threads
	States  *States
	Links   *Links
	Tasks   *Tasks
	Runs    *Runs
	Claims  *Claims
	Calls   *Calls
	Events  *Events

	Artifacts  *artifact.Table
	Items      *item.Table
	ItemChores *item.Chores
	Assistants *Assistants
	Agents     *Agents
	Crons      *Crons
	Deliveries *Outbox
	Requests   *Requests

	Owners    *Owners
	Retention *Retention
	Sealing   *Sealing
	Secrets   *Secrets
	Rates     *Rates

	base   *base
	log    *zap.Logger
	behind atomic.Pointer[error] // why Recover has not succeeded; nil once it has
}

// Open opens the database at dsn and brings its tables up to date.
//
// A path is a SQLite file. A missing one is created if its folder exists. What cannot be used (in use by another
// process, not a database, truncated, read-only, newer than this program, gone where one was) is refused with an error
// that names the path and says what to do.
//
// postgres://… is a PostgreSQL database, version 13 or later, which any number of processes may use at once; the tables
// are made in the first schema of its search_path that exists. It tells the time: Options.Now is for tests.
func Open(ctx context.Context, dsn string, o Options, log *zap.Logger) (*Store, error) {
	db, err := sqldb.Open(ctx, dsn, o.ofDB(), log)
	if err != nil {
		return nil, err
	}
	s := newStore(newBase(db, tables.NewQuotas(o.Quotas, o.Refused)), o, log)
	if err := s.start(ctx); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

func newStore(b *base, o Options, log *zap.Logger) *Store {
	table, chores := item.New(b.DB, o.Index, o.TTL, b.Quotas)
	return &Store{
		base: b, log: log,
		Threads: &Threads{b}, States: &States{base: b}, Links: &Links{b}, Tasks: &Tasks{b}, Runs: &Runs{b}, Claims: &Claims{b},
		Events: &Events{b}, Retention: &Retention{b}, Sealing: &Sealing{b}, Calls: &Calls{b}, Owners: &Owners{b},
		Artifacts: artifact.New(b.DB, b.Quotas), Items: table, ItemChores: chores, Crons: &Crons{b, o.Crons},
		Assistants: &Assistants{b}, Agents: &Agents{b}, Deliveries: &Outbox{b},
		Requests: &Requests{b}, Rates: &Rates{b}, Secrets: &Secrets{b},
	}
}

func (o Options) ofDB() sqldb.Options {
	return sqldb.Options{Synchronous: o.Synchronous, SecureDelete: o.SecureDelete, Limit: o.Limit, Keys: o.Keys, Owner: o.Owner, Holdings: holdings{}, Now: o.Now, Passed: o.Passed, Committed: o.Committed}
}

// start recovers. A file on a full disk can be read all the same; see Recover.
func (s *Store) start(ctx context.Context) error {
	s.behind.Store(&errNotRecovered)
	err := s.Recover(ctx)
	if err != nil && !s.Shared() && mapping.Classify(err).Class == mapping.StorageFull {
		s.log.Warn("database is readable but not writable", zap.Error(err))
		return nil
	}
	return err
}

// Recover frees what processes that are gone have left behind. Open has done that, unless the disk of a SQLite file was
// full (mapping.StorageFull): then it is to be called until it succeeds. Later calls do nothing. It belongs to no
// tenant.
func (s *Store) Recover(ctx context.Context) error {
	if s.behind.Load() == nil {
		return nil
	}
	err := s.base.DB.Recover(ctx)
	if err == nil {
		err = s.base.DB.Write(ctx, artifact.Sweep)
	}
	if err != nil {
		s.behind.Store(&err)
		return err
	}
	s.behind.Store(nil)
	return nil
}

// Abandoned reports whether the SQLite database at path has been used and no process uses it now.
func Abandoned(path string) bool { return sqldb.Abandoned(path) }

// Close waits for writes under way, interrupts reads, gives up what this process holds where others may take it, and
// closes the database.
func (s *Store) Close() error {
	if s.base.DB.EndLease(context.Background()) == nil {
		s.base.DB.Notify(Notice{Kind: NoticePending})
	}
	return s.base.DB.Close()
}

// Beat renews this process's lease until ttl from now, by the clock of the database. Other processes may take its runs
// once that is over, so it is to be called well before. ErrLapsed says that it came too late: the lease is new, and
// every run that was held under the old one is free. Where no other process can use the database a lease never ends. It
// belongs to no tenant.
func (s *Store) Beat(ctx context.Context, ttl time.Duration) error {
	freed, err := s.base.DB.RenewLease(ctx, ttl)
	if freed {
		s.base.DB.Notify(Notice{Kind: NoticePending})
	}
	return err
}

// Now returns the time by which stored decisions are made: see package clock.
func (s *Store) Now() time.Time { return sqldb.TimeOf(s.base.DB.Clock().Now) }

// Owner returns the id of this process in leases.
func (s *Store) Owner() string { return s.base.Owner }

// Shared reports whether other processes may use the database at the same time, so that leases end and Notices come.
func (s *Store) Shared() bool { return s.base.DB.Shared() }

// Notices returns the channel on which notices of other processes come. It has one listener, and is nil where there are
// no other processes.
func (s *Store) Notices() <-chan Notice { return s.base.DB.Notices() }

// Ping reports whether the database answers, whether it could be written to when that was tried last, and whether
// Recover has succeeded. It belongs to no tenant.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.base.DB.Ping(ctx); err != nil {
		return err
	}
	if err := s.behind.Load(); err != nil {
		return *err
	}
	return nil
}

var errNotRecovered error = mapping.Errorf(mapping.Unavailable, sqldb.CodeUnavailable, "What an earlier process left behind is not picked up yet. Try again in a moment.")

// LogSize returns how many bytes SQLite's write-ahead log has; ok is false where there is none of ours, on PostgreSQL.
func (s *Store) LogSize() (bytes int64, ok bool) { return s.base.DB.LogSize() }

// Size returns how many bytes the SQLite file has; ok is false for PostgreSQL.
func (s *Store) Size() (bytes int64, ok bool) { return s.base.DB.Size() }

// Full reports whether the newest write was refused for want of room.
func (s *Store) Full() bool { return s.base.DB.Full() }

// Flush returns when all that was committed before the call is on the disk: see DB.Flush.
func (s *Store) Flush() error { return s.base.DB.Flush() }

// RingDue rings for what a NoticeDue says is due, or for all: what waits for Retention.Expiries, Crons.Changed or
// Deliveries.Changed looks again.
func (s *Store) RingDue(what string) { s.base.RingDue(what) }
