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

// DB is one database: a SQLite file or a PostgreSQL schema. Safe for concurrent use. Its own failures are
// *mapping.Error; errors of operations pass as they are.
type DB struct {
	on    database
	owner string
	room  spaceQuota
	// answers counts what reads and writes were answered; see Ping.
	answers atomic.Uint64
	keys
}

// database is what differs between SQLite and PostgreSQL.
type database interface {
	// write runs do as one operation and returns when it is durable; relaxed: when it outlives the process, though on
	// SQLite maybe not the machine. do may be called again when what it did is lost: it builds its results anew.
	write(ctx context.Context, relaxed bool, do func(*Tx) error) error
	// read runs do on one consistent view.
	read(ctx context.Context, do func(*Tx) error) error
	// readOne is read for a single statement, which is consistent by itself.
	readOne(ctx context.Context, do func(*Tx) error) error
	// readBlob is readOne for a piece of a file: large, and not soon read again.
	readBlob(ctx context.Context, do func(*Tx) error) error
	// bulk is write of an operation that takes long, and is called once.
	bulk(ctx context.Context, do func(*Tx) error) error
	// flush returns when what was committed before, relaxed or not, is as durable as what write commits. What read,
	// readOne and readBlob have read is.
	flush() error
	// overwrite has what is deleted from now on overwritten, or not any more unless it always is. rewrite makes the
	// files anew, without what was deleted; done is false where that is not ours to do.
	overwrite(ctx context.Context, on bool) error
	rewrite(ctx context.Context) (done bool, err error)
	// clock is the time by which stored decisions are made. setClock has a transaction go by what the database says now.
	clock() clock.Reading
	setClock(t *Tx) error
	// recoverOrphans is done once, before anything else is: what processes that are gone have left behind is free.
	// renewLease renews the lease of this process.
	recoverOrphans(ctx context.Context) error
	renewLease(ctx context.Context, ttl time.Duration) (freed bool, err error)
	ping(ctx context.Context, patience time.Duration) error
	classify(err error) error
	logSize() (bytes int64, ok bool)
	size() (bytes int64, ok bool)
	// filled is what a file is filled with that has a limit, both in bytes; 0 where there is none.
	filled() (used, limit int64, err error)
	notices() *notices
	// endLease gives up what this process holds; close closes.
	endLease(ctx context.Context) error
	close() error
}

// Open opens the database at dsn, the path of a SQLite file or a URL postgres://…, and brings its tables up to date.
// What cannot be used is refused with an error that names it and says what to do. The caller recovers the database next
// (Recover).
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

// sealing gives an operation the keys.
func (d *DB) sealing(do func(*Tx) error) func(*Tx) error { return d.given(do) }

func isServer(dsn string) bool {
	return strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://")
}

// Options of Open.
type Options struct {
	Synchronous string // full (default) | normal
	// SecureDelete has what is deleted overwritten in a SQLite file. PostgreSQL does not look at it.
	SecureDelete bool
	// Limit is how many bytes a SQLite file may grow to, 0 for as many as the disk holds. PostgreSQL does not look at
	// it.
	Limit int64
	// Keys are those that bodies are sealed under; nil: none are.
	Keys *seal.Ring
	// Owner is the id of this process in leases; "" makes one.
	Owner    string
	Holdings Holdings // nil: processes hold nothing
	// Now is the clock of this machine, and Passed one that cannot be set: see package clock. PostgreSQL has the time of
	// the database instead of Now. nil: what the machine has. Passed follows Now if only that is given, so that a test may
	// set the time.
	Now    func() time.Time
	Passed func() time.Duration

	connect time.Duration // connectLimit.least of tests; 0: connectLeast
	// Committed is told of every transaction that was committed: the operations in it, and the time from its start to
	// when it was as durable as it was to be. nil: it is not reported.
	Committed func(operations int, took time.Duration)
}

// clock returns the clock of a database.
func (o Options) clock(patience time.Duration) *clock.Clock {
	switch {
	case o.Passed != nil:
		return clock.New(o.Passed, patience)
	case o.Now != nil:
		return clock.New(func() time.Duration { return time.Duration(o.Now().UnixNano()) }, patience)
	}
	return clock.New(clock.SinceBoot(), patience)
}

// Write runs do as one operation and returns when it is durable. do may be called again when what it did is lost: it
// builds its results anew.
func (d *DB) Write(ctx context.Context, do func(*Tx) error) error {
	return d.answered(d.wrote(d.on.write(ctx, false, d.sealing(do))))
}

// WriteRelaxed is Write for what may be lost when the machine fails, though not when the process does.
func (d *DB) WriteRelaxed(ctx context.Context, do func(*Tx) error) error {
	return d.answered(d.wrote(d.on.write(ctx, true, d.sealing(do))))
}

// Read runs do on one consistent view.
func (d *DB) Read(ctx context.Context, do func(*Tx) error) error {
	return d.answered(d.on.classify(d.on.read(ctx, d.sealing(do))))
}

// ReadOne is Read of a single statement, which is consistent by itself.
func (d *DB) ReadOne(ctx context.Context, do func(*Tx) error) error {
	return d.answered(d.on.classify(d.on.readOne(ctx, d.sealing(do))))
}

// ReadBlob is ReadOne of a piece of a file: large, and not soon read again.
func (d *DB) ReadBlob(ctx context.Context, do func(*Tx) error) error {
	return d.answered(d.on.classify(d.on.readBlob(ctx, d.sealing(do))))
}

func (d *DB) answered(err error) error {
	if err == nil {
		d.answers.Add(1)
	}
	return err
}

// Flush returns when all that was committed before the call is on the disk. Where nothing waits for that it costs two
// looks at memory, and callers that wait at the same time share a flush. What was read, and what a write that is not
// relaxed has answered, is on the disk without it: it is for what is told from memory.
//
// With SQLite and `synchronous: normal` it does nothing: SQLite flushes at its checkpoints. Nor does it with
// PostgreSQL, where every commit is flushed, or none is.
func (d *DB) Flush() error { return d.on.classify(d.on.flush()) }

// Clock returns the time by which stored decisions are made.
func (d *DB) Clock() clock.Reading { return d.on.clock() }

// SetClock has an operation go by what the database says now, where it would go by what it said a moment ago.
func (d *DB) SetClock(t *Tx) error { return d.on.setClock(t) }

// Owner returns the id of this process in leases.
func (d *DB) Owner() string { return d.owner }

// Shared reports whether other processes may use the database at the same time.
func (d *DB) Shared() bool { return d.on.notices() != nil }

// Recover frees what processes that are gone have held. It is called once before operations are run. On a full disk of
// a SQLite file it is mapping.StorageFull, and may be called again.
func (d *DB) Recover(ctx context.Context) error { return d.on.classify(d.on.recoverOrphans(ctx)) }

// RenewLease renews this process's lease until ttl from now, by the clock of the database, and frees what processes
// held whose leases are over. freed reports whether something may have been. ErrLapsed: it came too late; the lease is
// new, and all that was held under the old one is free. On SQLite a lease never ends.
func (d *DB) RenewLease(ctx context.Context, ttl time.Duration) (freed bool, err error) {
	freed, err = d.on.renewLease(ctx, ttl)
	return freed, d.on.classify(err)
}

// pingPatience is how long a ping waits for a read before it looks whether the database has answered others: probes are
// often given a second in all.
const pingPatience = 250 * time.Millisecond

// errNoTurn is of a ping whose read did not end in time.
var errNoTurn = errors.New("the read of a ping did not end in time")

// readWithin carries out a ping's read, for as long as patience at most; 0: until ctx ends.
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

// Ping reports whether the database answers, whether it could be written to when that was tried last, and whether a
// SQLite file has reached its limit. A database that answers others is only busy: under many readers a ping may not get
// a connection before ctx ends.
func (d *DB) Ping(ctx context.Context) error {
	before := d.answers.Load()
	err := d.on.ping(ctx, pingPatience)
	if errors.Is(err, errNoTurn) && d.answers.Load() == before {
		err = d.on.ping(ctx, 0)
	}
	if errors.Is(err, errNoTurn) && d.answers.Load() != before {
		err = nil
	}
	if d.Shared() { // where a ping only reads, and says nothing of room
		return d.on.classify(err)
	}
	if err = d.wrote(err); err == nil && d.Full() {
		err = d.on.classify(sqlite3.ResultFull.ToError())
	}
	return err
}

// LogSize returns how many bytes SQLite's write-ahead log has; ok is false where there is none of ours, on PostgreSQL.
func (d *DB) LogSize() (bytes int64, ok bool) { return d.on.logSize() }

// Size returns how many bytes the SQLite file has; ok is false for PostgreSQL.
func (d *DB) Size() (bytes int64, ok bool) { return d.on.size() }

// Notices returns the channel on which notices of other processes come. It has one listener, and is nil where there are
// no other processes.
func (d *DB) Notices() <-chan Notice {
	if n := d.on.notices(); n != nil {
		return n.incoming
	}
	return nil
}

// Notify has the other processes told, if there are any.
func (d *DB) Notify(n Notice) {
	if out := d.on.notices(); out != nil {
		out.notify(n)
	}
}

// NotifyAfter is Notify once the operation is committed.
func (d *DB) NotifyAfter(t *Tx, n Notice) {
	if out := d.on.notices(); out != nil {
		t.After(func() { out.notify(n) })
	}
}

// EndLease gives up what this process holds where others may take it. Close follows.
func (d *DB) EndLease(ctx context.Context) error { return d.on.endLease(ctx) }

// Close waits for writes under way, interrupts reads, and closes the database.
func (d *DB) Close() error { return d.on.close() }
