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

// Options configures Open.
type Options struct {
	Synchronous string // full (default) | normal
	// SecureDelete overwrites deleted data in a SQLite file. PostgreSQL ignores it.
	SecureDelete bool
	// Limit is the maximum size of a SQLite file in bytes. 0 means no limit. A file that is already larger keeps its
	// size. Writes that do not fit fail with mapping.StorageFull. PostgreSQL ignores it.
	Limit int64
	// Crons limits the crons of a tenant. 0 means no limit.
	Crons int
	// Quotas limits what keys and tenants may keep; nil means no limit. Refused is called for each refusal and may be
	// nil.
	Quotas  tables.AllowedQuotas
	Refused func(limit, of string)
	Index   *item.Index // nil if items do not become vectors
	TTL     item.TTL
	// Committed is called after each transaction: see sqldb.Options.
	Committed func(operations int, took time.Duration)
	// Keys encrypts the bodies. If it is nil, bodies are not encrypted.
	Keys *seal.Ring
	// Owner is the id of this process in leases. If it is empty, Open creates one.
	Owner string
	// Now and Passed are clocks for tests: see sqldb.Options.
	Now    func() time.Time
	Passed func() time.Duration
}

// Store keeps all records. Every operation is scoped to what the principal in its context (mapping.PrincipalOf) can see
// (tables.Scope), unless its comment says otherwise. Errors that may be shown to clients are *mapping.Error. Safe for
// concurrent use.
//
// Operations are methods of its parts, one for each kind of object. Operations on the whole database are methods of
// Store. A package that needs only a few parts gets only those.
type Store struct {
	Threads *Threads
	States  *States
	Links   *Links
	Tasks   *Tasks
	Runs    *Runs
	Claims  *Claims
	Calls   *Calls
	Events  *Events

	Artifacts       *artifact.Table
	Items           *item.Table
	ItemMaintenance *item.Maintenance
	Assistants      *Assistants
	Agents          *Agents
	Crons           *Crons
	Deliveries      *Outbox
	Requests        *Requests

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
// A path is a SQLite file, which is created if it does not exist but its folder does. If the file cannot be used (in
// use by another process, not a database, truncated, read-only, newer than this program, or missing although there was
// one), the error names the path and says how to fix the problem.
//
// postgres://… is a PostgreSQL database, version 13 or later, which any number of processes may use at once. The tables
// are created in the first schema of its search_path that exists. The database provides the time; Options.Now is for
// tests.
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
	table, maintenance := item.New(b.DB, o.Index, o.TTL, b.Quotas)
	return &Store{
		base: b, log: log,
		Threads: &Threads{b}, States: &States{base: b}, Links: &Links{b}, Tasks: &Tasks{b}, Runs: &Runs{b}, Claims: &Claims{b},
		Events: &Events{b}, Retention: &Retention{b}, Sealing: &Sealing{b}, Calls: &Calls{b}, Owners: &Owners{b},
		Artifacts: artifact.New(b.DB, b.Quotas), Items: table, ItemMaintenance: maintenance, Crons: &Crons{b, o.Crons},
		Assistants: &Assistants{b}, Agents: &Agents{base: b}, Deliveries: &Outbox{b},
		Requests: &Requests{b}, Rates: &Rates{b}, Secrets: &Secrets{b},
	}
}

func (o Options) ofDB() sqldb.Options {
	return sqldb.Options{Synchronous: o.Synchronous, SecureDelete: o.SecureDelete, Limit: o.Limit, Keys: o.Keys, Owner: o.Owner, Holdings: holdings{}, Now: o.Now, Passed: o.Passed, Committed: o.Committed}
}

// start calls Recover. A file on a full disk can still be read.
func (s *Store) start(ctx context.Context) error {
	s.behind.Store(&errNotRecovered)
	err := s.Recover(ctx)
	if err != nil && !s.Shared() && mapping.Classify(err).Class == mapping.StorageFull {
		s.log.Warn("database is readable but not writable", zap.Error(err))
		return nil
	}
	return err
}

// Recover releases what dead processes have left behind. Open calls it. If the disk of a SQLite file was full then
// (mapping.StorageFull), it must be called again until it succeeds. Later calls do nothing. Not scoped by tenant.
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

// Close waits for running writes, interrupts reads, releases what this process holds so that others can take it, and
// closes the database.
func (s *Store) Close() error {
	if s.base.DB.EndLease(context.Background()) == nil {
		s.base.DB.Notify(Notice{Kind: NoticePending})
	}
	return s.base.DB.Close()
}

// Beat renews this process's lease until ttl from now, by the database's clock. After that other processes may take its
// runs, so it must be called well before. It returns ErrLapsed if the lease had already expired: the process then has a
// new lease, and every run held under the old one is released. If no other process can use the database, a lease never
// expires. Not scoped by tenant.
func (s *Store) Beat(ctx context.Context, ttl time.Duration) error {
	freed, err := s.base.DB.RenewLease(ctx, ttl)
	if freed {
		s.base.DB.Notify(Notice{Kind: NoticePending})
	}
	return err
}

// Now returns the time used for stored decisions: see package clock.
func (s *Store) Now() time.Time { return sqldb.TimeOf(s.base.DB.Clock().Now) }

// Owner returns the id of this process in leases.
func (s *Store) Owner() string { return s.base.Owner }

// Shared reports whether other processes may use the database at the same time, so that leases can expire and Notices
// can arrive.
func (s *Store) Shared() bool { return s.base.DB.Shared() }

// Notices returns the channel of notices from other processes, for one listener. It is nil if no other process can use
// the database.
func (s *Store) Notices() <-chan Notice { return s.base.DB.Notices() }

// Ping reports whether the database answers, whether the last attempt to write succeeded, and whether Recover has
// succeeded. Not scoped by tenant.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.base.DB.Ping(ctx); err != nil {
		return err
	}
	if err := s.behind.Load(); err != nil {
		return *err
	}
	return nil
}

var errNotRecovered error = mapping.Errorf(mapping.Unavailable, sqldb.CodeUnavailable, "Runs of an earlier process have not been recovered yet. Try again in a moment.")

// LogSize returns the size of SQLite's write-ahead log in bytes. ok is false on PostgreSQL.
func (s *Store) LogSize() (bytes int64, ok bool) { return s.base.DB.LogSize() }

// Size returns the size of the SQLite file in bytes. ok is false on PostgreSQL.
func (s *Store) Size() (bytes int64, ok bool) { return s.base.DB.Size() }

// Full reports whether the last write was refused for lack of space.
func (s *Store) Full() bool { return s.base.DB.Full() }

// Flush returns when everything committed before the call is on disk: see sqldb.DB.Flush.
func (s *Store) Flush() error { return s.base.DB.Flush() }

// WakeDue wakes the listener of Retention.Expiries, Crons.Changed or Deliveries.Changed, depending on the subject of a
// NoticeDue, or all of them if what is empty.
func (s *Store) WakeDue(what string) { s.base.WakeDue(what) }
