package sqldb

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apbridge/apbridge/mapping/pause"
	"github.com/apbridge/apbridge/proxy/store/clock"
	"github.com/apbridge/apbridge/proxy/store/sqldb/line"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/zap"
)

// postgres is the part specific to PostgreSQL: the pool, the way transactions run, and coordination with other
// processes. Keep it small, since the SQL of operations is shared with SQLite.
type postgres struct {
	name     string // host and database, for messages
	owner    string
	holdings Holdings
	schema   string
	pool     *pgxpool.Pool
	lines    *line.Lines // of the pool
	limit    connectLimit
	apart    *pgx.ConnConfig // for connections outside the pool
	log      *zap.Logger
	receipts receipts
	told     func(operations int, took time.Duration) // Options.Committed
	relaxed  bool                                     // commits do not wait for the disk
	now      func() time.Time                         // Options.Now; if nil, the database's time is used
	time     *clock.Clock
	notifier *notifier
	closed   atomic.Bool
	unwatch  context.CancelFunc
	watching sync.WaitGroup
}

const (
	// patience is the time for which an operation is retried while the database cannot be reached, for example during a
	// failover.
	patience = 10 * time.Second
	// operationMost ends an operation on a connection that has stopped responding.
	operationMost = time.Minute
	// idleMost is the time for which the server keeps a transaction and its locks if the client sends nothing. It is
	// shorter than a lease, so that other processes do not wait for one that was stopped in the middle of a
	// transaction.
	idleMost = 5 * time.Second
	poolMost = 16
)

func openPostgres(ctx context.Context, dsn string, o Options, log *zap.Logger) (*postgres, error) {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, unreadableURL()
	}
	p := &postgres{name: nameOf(cfg.ConnConfig), owner: o.Owner, holdings: o.Holdings, relaxed: o.Synchronous == "normal", lines: line.New(), log: log, told: o.Committed,
		now: o.Now, time: o.clock(0), limit: connectLimit{least: cmp.Or(o.connect, connectLeast)}}
	configure(cfg, dsn)
	p.apart = cfg.ConnConfig.Copy()
	p.keepLines(cfg)
	if p.pool, err = pgxpool.NewWithConfig(ctx, cfg); err != nil {
		return nil, refuse(p.name, "%v", err)
	}
	p.notifier = newNotifier(p.connect, o.Owner, log)
	var watched context.Context
	watched, p.unwatch = context.WithCancel(context.WithoutCancel(ctx))
	p.watching.Go(func() { p.watch(watched) })
	if err := p.prepare(ctx); err != nil {
		_ = p.close()
		return nil, err
	}
	return p, nil
}

// unreadableURL does not include the URL, which contains a password.
func unreadableURL() error {
	return refuse("PostgreSQL", "its URL cannot be read; write it as postgres://user:password@host:5432/name")
}

// write runs do as one transaction. It retries if the work is lost because the connection broke, the server went away
// or two operations deadlocked. If the response to a commit is lost, it determines whether the commit took place. Every
// commit waits for the server's disk, including relaxed ones, because the server may crash while this process and its
// clients, which have seen the committed data, keep running.
func (p *postgres) write(ctx context.Context, _ bool, do func(*Tx) error) error {
	do = failing(do)
	begin := []string{"BEGIN ISOLATION LEVEL READ COMMITTED"}
	begun := time.Now()
	err := p.persist(ctx, func(ctx context.Context) (bool, error) { return p.transact(ctx, begin, do) })
	if err == nil {
		p.told(1, time.Since(begun))
	}
	return err
}

// transact makes one attempt. If again is true, it wrote nothing and another attempt may succeed.
func (p *postgres) transact(ctx context.Context, begin []string, do func(*Tx) error) (again bool, err error) {
	t, r, unanswered := (*Tx)(nil), p.receipts.lend(), false
	again, err = p.once(ctx, func(ctx context.Context, conn *pgx.Conn) (bool, error) {
		on := &pgTx{ctx: ctx, conn: conn, begin: begin, owner: p.owner, receipt: r}
		t = &Tx{on: on, Reading: p.clock()}
		err := doSafely(do, t)
		if err == nil {
			err = on.commit()
			unanswered = err != nil && conn.IsClosed()
		}
		if err != nil {
			on.rollback()
		}
		return true, err
	})
	if unanswered {
		switch done, known := p.settle(ctx, r); {
		case !known:
			return false, errors.Join(ErrUnknown, err)
		case done:
			err = nil
		}
	}
	p.receipts.give(r)
	if err == nil {
		for _, f := range t.committed {
			f()
		}
	}
	return again, err
}

// read runs do in a transaction that sees the database as of its start.
func (p *postgres) read(ctx context.Context, do func(*Tx) error) error {
	return p.attempt(ctx, func(ctx context.Context, conn *pgx.Conn) (bool, error) {
		on := &pgTx{ctx: ctx, conn: conn, begin: []string{"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"}}
		defer on.rollback()
		err := doSafely(do, &Tx{on: on, Reading: p.clock()})
		return !on.gave, err
	})
}

func (p *postgres) readBlob(ctx context.Context, do func(*Tx) error) error { return p.readOne(ctx, do) }

// flush does nothing: either every commit is flushed or none.
func (p *postgres) flush() error { return nil }

func (p *postgres) readOne(ctx context.Context, do func(*Tx) error) error {
	return p.attempt(ctx, func(ctx context.Context, conn *pgx.Conn) (bool, error) {
		on := &pgTx{ctx: ctx, conn: conn}
		err := doSafely(do, &Tx{on: on, Reading: p.clock()})
		return !on.gave, err
	})
}

// attempt tries an operation once on a connection. again reports whether a failed attempt left nothing behind and may
// be repeated.
type attempt func(context.Context, *pgx.Conn) (again bool, err error)

func (p *postgres) attempt(ctx context.Context, do attempt) error {
	return p.persist(ctx, func(ctx context.Context) (bool, error) { return p.once(ctx, do) })
}

// persist retries as long as a retry can succeed. The context only stops retries. An operation that has begun is
// finished even if the caller gives up, because half an operation is of no use.
func (p *postgres) persist(ctx context.Context, try func(context.Context) (again bool, err error)) error {
	end := time.Now().Add(patience)
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if p.closed.Load() {
			return errClosed
		}
		again, err := try(ctx)
		if err == nil || !again || time.Now().Add(wait).After(end) {
			return err
		}
		if pause.For(ctx, wait/2+rand.N(wait)) != nil {
			return err
		}
	}
}

func (p *postgres) once(ctx context.Context, do attempt) (again bool, err error) {
	conn, err := p.pool.Acquire(ctx)
	if err != nil {
		return passing(err), err
	}
	defer conn.Release()
	inner, stop := context.WithTimeout(context.WithoutCancel(ctx), operationMost)
	defer stop()
	again, err = do(inner, conn.Conn())
	return again && err != nil && (conn.Conn().IsClosed() || passing(err)), err
}

// clock returns the database's time without a query: its time at the last renewal of the lease plus the time elapsed
// here since. Setting the clock of this machine does not affect it.
func (p *postgres) clock() clock.Reading {
	if p.now != nil {
		p.time.Hear(p.now())
	}
	return p.time.Read()
}

// hear records the database's time.
func (p *postgres) hear(micros int64) {
	if p.now == nil {
		p.time.Hear(time.UnixMicro(micros))
	}
}

// setClock sets the transaction's time to the database's current time. A process that was suspended with its machine
// does not know for how long.
func (p *postgres) setClock(t *Tx) error {
	var now int64
	err := t.Get(`SELECT `+present, nil, []any{&now})
	if err == nil {
		p.hear(now)
		t.Reading = p.clock()
	}
	return err
}

func (p *postgres) notices() *notices { return p.notifier.notices }

func (p *postgres) logSize() (int64, bool) { return 0, false }

func (p *postgres) size() (int64, bool) { return 0, false }

func (p *postgres) close() error {
	p.closed.Store(true)
	p.unwatch()
	p.watching.Wait()
	p.notifier.stop()
	p.pool.Close()
	return nil
}
