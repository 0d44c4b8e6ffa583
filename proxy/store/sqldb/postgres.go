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

// postgres is what is particular to PostgreSQL: its pool, how its transactions run, and that others use it too. Keep it
// small: the SQL of operations is meant for SQLite too.
type postgres struct {
	name     string // host and database, for messages
	owner    string
	holdings Holdings
	schema   string
	pool     *pgxpool.Pool
	lines    *line.Lines // of the pool
	limit    connectLimit
	apart    *pgx.ConnConfig // for connections beside the pool
	log      *zap.Logger
	receipts receipts
	told     func(operations int, took time.Duration) // Options.Committed
	relaxed  bool                                     // no commit waits for the disk
	now      func() time.Time                         // Options.Now; nil: the time of the database
	time     *clock.Clock
	notifier *notifier
	closed   atomic.Bool
	unwatch  context.CancelFunc
	watching sync.WaitGroup
}

const (
	// patience is how long an operation is tried again while the database cannot be reached, as when a standby takes
	// over.
	patience = 10 * time.Second
	// operationMost ends an operation whose connection has gone silent.
	operationMost = time.Minute
	// idleMost is how long the server keeps a transaction whose process says nothing, and what it locks: shorter than a
	// lease, so that a process which is stopped amid one is not waited for.
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

// unreadableURL does not show the URL, which has a password.
func unreadableURL() error {
	return refuse("PostgreSQL", "its URL cannot be read; write it as postgres://user:password@host:5432/name")
}

// write runs do as one transaction, again where what it did is lost: the connection broke, the server went away, or two
// operations waited for each other. Whether a commit took place whose answer never came is asked for. Every commit
// waits for the disk of the server, relaxed ones too: it may crash while this process and its clients, who were shown
// what was committed, go on.
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

// transact tries once. again: nothing was written, and the next try may succeed.
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

// read's transaction sees the database as it was when it began.
func (p *postgres) read(ctx context.Context, do func(*Tx) error) error {
	return p.attempt(ctx, func(ctx context.Context, conn *pgx.Conn) (bool, error) {
		on := &pgTx{ctx: ctx, conn: conn, begin: []string{"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"}}
		defer on.rollback()
		err := doSafely(do, &Tx{on: on, Reading: p.clock()})
		return !on.gave, err
	})
}

func (p *postgres) readBlob(ctx context.Context, do func(*Tx) error) error { return p.readOne(ctx, do) }

// flush has nothing to do: a commit is flushed, or none is.
func (p *postgres) flush() error { return nil }

func (p *postgres) readOne(ctx context.Context, do func(*Tx) error) error {
	return p.attempt(ctx, func(ctx context.Context, conn *pgx.Conn) (bool, error) {
		on := &pgTx{ctx: ctx, conn: conn}
		err := doSafely(do, &Tx{on: on, Reading: p.clock()})
		return !on.gave, err
	})
}

// attempt is one try of an operation on a connection; again: when it failed it left nothing behind and may be tried
// anew.
type attempt func(context.Context, *pgx.Conn) (again bool, err error)

func (p *postgres) attempt(ctx context.Context, do attempt) error {
	return p.persist(ctx, func(ctx context.Context) (bool, error) { return p.once(ctx, do) })
}

// persist tries while that is worth it. A caller that gives up does not keep what was begun from being finished: half
// of an operation is no use.
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

// clock is the time of the database as this process knows it without asking: what it was at the last renewal of the
// lease, and what has passed here since. It does not follow when the clock of this machine is set.
func (p *postgres) clock() clock.Reading {
	if p.now != nil {
		p.time.Hear(p.now())
	}
	return p.time.Read()
}

// hear notes the time of the database.
func (p *postgres) hear(micros int64) {
	if p.now == nil {
		p.time.Hear(time.UnixMicro(micros))
	}
}

// setClock has the transaction go by the time that the database has now. A process that was stopped for a while, with
// its machine, does not know how long.
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
