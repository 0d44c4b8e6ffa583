package sqldb

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/apbridge/apbridge/proxy/store/clock"
	"github.com/apbridge/apbridge/proxy/store/seal"
	"go.uber.org/zap"
	sqlite3 "zombiezen.com/go/sqlite"
)

// DB is one database: a SQLite file or a PostgreSQL schema. Errors of the database itself are *mapping.Error; errors of
// operations are returned unchanged. Safe for concurrent use.
type DB struct {
	on    database
	owner string
	room  spaceQuota
	// answers counts the reads and writes that succeeded; see Ping.
	answers atomic.Uint64
	keys
}

// database covers the differences between SQLite and PostgreSQL.
type database interface {
	// write runs do as one operation and returns when it is durable. A relaxed operation survives a crash of the
	// process, but on SQLite perhaps not a crash of the machine. do may be called again if its work was lost, so it
	// must rebuild its results on each call.
	write(ctx context.Context, relaxed bool, do func(*Tx) error) error
	// read runs do on one consistent view.
	read(ctx context.Context, do func(*Tx) error) error
	// readOne is like read, for a single statement, which is consistent by itself.
	readOne(ctx context.Context, do func(*Tx) error) error
	// readBlob is like readOne, for a chunk of a file, which is large and unlikely to be read again soon.
	readBlob(ctx context.Context, do func(*Tx) error) error
	// bulk is like write, for a long operation. It calls do only once.
	bulk(ctx context.Context, do func(*Tx) error) error
	// flush returns when all earlier commits, relaxed or not, are as durable as a commit of write. Data returned by
	// read, readOne and readBlob is already that durable.
	flush() error
	// overwrite turns overwriting of deleted data on or off. It has no effect if that is always on. rewrite rebuilds
	// the file without deleted data. done is false if this database does not rewrite itself.
	overwrite(ctx context.Context, on bool) error
	rewrite(ctx context.Context) (done bool, err error)
	// clock returns the time used for stored decisions. setClock sets a transaction's time to the database's current
	// time.
	clock() clock.Reading
	setClock(t *Tx) error
	// recoverOrphans is called once, before any other operation. It releases what dead processes have left behind.
	// renewLease renews the lease of this process.
	recoverOrphans(ctx context.Context) error
	renewLease(ctx context.Context, ttl time.Duration) (freed bool, err error)
	ping(ctx context.Context, patience time.Duration) error
	classify(err error) error
	logSize() (bytes int64, ok bool)
	size() (bytes int64, ok bool)
	// filled returns the bytes in use and the limit of a limited file. Without a limit it returns 0, 0.
	filled() (used, limit int64, err error)
	notices() *notices
	// endLease releases everything this process holds. close closes the database.
	endLease(ctx context.Context) error
	close() error
}

// Open opens the database at dsn, the path of a SQLite file or a postgres:// URL, and migrates its tables. If the
// database cannot be used, the error names it and says how to fix the problem. The caller calls Recover next.
func Open(ctx context.Context, dsn string, o Options, log *zap.Logger) (*DB, error) {
	if o.Owner == "" {
		o.Owner = newOwner()
	}
	if o.Holdings == nil {
		o.Holdings = nothingHeld{}
	}
	if o.Committed == nil {
		o.Committed = func(int, time.Duration) {}
	}
	var on database
	var err error
	if isServer(dsn) {
		on, err = openPostgres(ctx, dsn, o, log)
	} else {
		on, err = openSQLite(ctx, dsn, o, log)
	}
	if err != nil {
		return nil, err
	}
	d := &DB{on: on, owner: o.Owner, keys: keys{ring: o.Keys}}
	if err := d.useKeys(ctx, dsn); err != nil {
		_ = on.close()
		return nil, err
	}
	return d, nil
}

func isServer(dsn string) bool {
	return strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://")
}

// Options configures Open.
type Options struct {
	Synchronous string // full (default) | normal
	// SecureDelete overwrites deleted data in a SQLite file. PostgreSQL ignores it.
	SecureDelete bool
	// Limit is the maximum size of a SQLite file in bytes. 0 means no limit. PostgreSQL ignores it.
	Limit int64
	// Keys encrypts the bodies. If it is nil, bodies are not encrypted.
	Keys *seal.Ring
	// Owner is the id of this process in leases. If it is empty, Open creates one.
	Owner    string
	Holdings Holdings // if nil, processes hold nothing
	// Now is the clock of this machine, and Passed is a clock that cannot be set; see package clock. The clocks of the
	// machine are used if they are nil. PostgreSQL uses the database's time unless Now is set. If only Now is set,
	// Passed follows it, so that a test can set the time.
	Now    func() time.Time
	Passed func() time.Duration

	connect time.Duration // connectLimit.least, for tests; 0 means connectLeast
	// Committed is called after each committed transaction with the number of its operations and the time from its
	// start until it was as durable as requested. It may be nil.
	Committed func(operations int, took time.Duration)
}

func (o Options) clock(patience time.Duration) *clock.Clock {
	switch {
	case o.Passed != nil:
		return clock.New(o.Passed, patience)
	case o.Now != nil:
		return clock.New(func() time.Duration { return time.Duration(o.Now().UnixNano()) }, patience)
	}
	return clock.New(clock.SinceBoot(), patience)
}

// Write runs do as one operation and returns when it is durable. do may be called again if its work was lost, so it
// must rebuild its results on each call.
func (d *DB) Write(ctx context.Context, do func(*Tx) error) error {
	return d.answered(d.wrote(d.on.write(ctx, false, d.given(do))))
}

// WriteRelaxed is like Write, for data that may be lost if the machine crashes, but not if only the process does.
func (d *DB) WriteRelaxed(ctx context.Context, do func(*Tx) error) error {
	return d.answered(d.wrote(d.on.write(ctx, true, d.given(do))))
}

// Read runs do on one consistent view.
func (d *DB) Read(ctx context.Context, do func(*Tx) error) error {
	return d.answered(d.on.classify(d.on.read(ctx, d.given(do))))
}

// ReadOne is like Read, for a single statement, which is consistent by itself.
func (d *DB) ReadOne(ctx context.Context, do func(*Tx) error) error {
	return d.answered(d.on.classify(d.on.readOne(ctx, d.given(do))))
}

// ReadBlob is like ReadOne, for a chunk of a file, which is large and unlikely to be read again soon.
func (d *DB) ReadBlob(ctx context.Context, do func(*Tx) error) error {
	return d.answered(d.on.classify(d.on.readBlob(ctx, d.given(do))))
}

func (d *DB) answered(err error) error {
	if err == nil {
		d.answers.Add(1)
	}
	return err
}

// Flush returns when everything committed before the call is on disk. If nothing needs flushing, it costs two atomic
// loads. Concurrent callers share a flush. Data that was read, or written by a write that is not relaxed, is already on
// disk. Flush is for data that is sent to clients from memory.
//
// It does nothing on SQLite with `synchronous: normal`, because SQLite flushes at its checkpoints. It does nothing on
// PostgreSQL, because PostgreSQL flushes either every commit or none.
func (d *DB) Flush() error { return d.on.classify(d.on.flush()) }

// Clock returns the time used for stored decisions.
func (d *DB) Clock() clock.Reading { return d.on.clock() }

// SetClock sets the operation's time to the database's current time instead of the last known one.
func (d *DB) SetClock(t *Tx) error { return d.on.setClock(t) }

// Owner returns the id of this process in leases.
func (d *DB) Owner() string { return d.owner }

// Shared reports whether other processes may use the database at the same time.
func (d *DB) Shared() bool { return d.on.notices() != nil }

// Recover releases everything held by dead processes. It is called once, before other operations. If the disk of a
// SQLite file is full, it returns a mapping.StorageFull error and may be called again.
func (d *DB) Recover(ctx context.Context) error { return d.on.classify(d.on.recoverOrphans(ctx)) }

// RenewLease renews this process's lease until ttl from now, by the database's clock, and releases what processes with
// expired leases held. freed reports whether anything may have been released. It returns ErrLapsed if the lease had
// already expired: the process then has a new lease, and everything it held under the old one is released. On SQLite a
// lease never expires.
func (d *DB) RenewLease(ctx context.Context, ttl time.Duration) (freed bool, err error) {
	freed, err = d.on.renewLease(ctx, ttl)
	return freed, d.on.classify(err)
}

// pingPatience is how long a ping waits for a read before it checks whether the database has answered other callers.
// Probes often allow only one second in total.
const pingPatience = 250 * time.Millisecond

// errNoTurn is the error of a ping whose read timed out.
var errNoTurn = errors.New("the read of a ping did not finish in time")

// readWithin runs a ping's read for at most patience. If patience is 0, only ctx limits it.
func readWithin(ctx context.Context, patience time.Duration, read func(context.Context) error) error {
	if patience > 0 {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	err := read(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", errNoTurn, err)
	}
	return err
}

// Ping reports whether the database answers, whether the last attempt to write succeeded, and whether a SQLite file has
// reached its limit. A database that answers other callers counts as up: under many readers a ping may not get a
// connection before ctx ends.
func (d *DB) Ping(ctx context.Context) error {
	before := d.answers.Load()
	err := d.on.ping(ctx, pingPatience)
	if errors.Is(err, errNoTurn) && d.answers.Load() == before {
		err = d.on.ping(ctx, 0)
	}
	if errors.Is(err, errNoTurn) && d.answers.Load() != before {
		err = nil
	}
	if d.Shared() { // on PostgreSQL a ping only reads and does not check for space
		return d.on.classify(err)
	}
	if err = d.wrote(err); err == nil && d.Full() {
		err = d.on.classify(sqlite3.ResultFull.ToError())
	}
	return err
}

// LogSize returns the size of SQLite's write-ahead log in bytes. ok is false on PostgreSQL.
func (d *DB) LogSize() (bytes int64, ok bool) { return d.on.logSize() }

// Size returns the size of the SQLite file in bytes. ok is false on PostgreSQL.
func (d *DB) Size() (bytes int64, ok bool) { return d.on.size() }

// Notices returns the channel of notices from other processes, for one listener. It is nil if no other process can use
// the database.
func (d *DB) Notices() <-chan Notice {
	if n := d.on.notices(); n != nil {
		return n.incoming
	}
	return nil
}

// Notify sends a notice to the other processes, if there can be any.
func (d *DB) Notify(n Notice) {
	if out := d.on.notices(); out != nil {
		out.notify(n)
	}
}

// NotifyAfter calls Notify once the operation is committed.
func (d *DB) NotifyAfter(t *Tx, n Notice) {
	if out := d.on.notices(); out != nil {
		t.After(func() { out.notify(n) })
	}
}

// EndLease releases everything this process holds, so that other processes can take it. The caller calls Close next.
func (d *DB) EndLease(ctx context.Context) error { return d.on.endLease(ctx) }

// Close waits for running writes, interrupts reads, and closes the database.
func (d *DB) Close() error { return d.on.close() }
