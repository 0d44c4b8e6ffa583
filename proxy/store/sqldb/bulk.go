package sqldb

import (
	"context"
	"errors"

	"github.com/apbridge/apbridge/proxy/store/seal"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/zap"
)

// Fill opens the database at dsn, as Open does, and runs do as one operation without a time limit. It calls do once. If
// do returns an error, ctx ends or the process dies, nothing is written.
func Fill(ctx context.Context, dsn string, o Options, log *zap.Logger, do func(*Tx) error) error {
	d, err := Open(ctx, dsn, o, log)
	if err != nil {
		return err
	}
	return errors.Join(d.on.classify(d.on.bulk(ctx, d.given(do))), d.Close())
}

// Look runs do on one consistent view of the database at dsn, without a time limit. Other processes may be using the
// database. Bodies are decrypted with ring; a nil ring has no keys. Look changes nothing, so tables of an older version
// remain unchanged; SchemaOf returns their version.
func Look(ctx context.Context, dsn string, ring *seal.Ring, do func(*Tx) error) error {
	do = keys{ring: ring}.given(do)
	if isServer(dsn) {
		return lookPostgres(ctx, dsn, do)
	}
	return lookSQLite(ctx, dsn, do)
}

func (d *sqlite) bulk(ctx context.Context, do func(*Tx) error) error {
	return d.writer.write(ctx, false, do)
}

// untilItIsDone turns off the server's idle limit for a transaction (idleMost): a bulk operation may wait for a file or
// a pipe.
const untilItIsDone = "SET LOCAL idle_in_transaction_session_timeout = 0"

// bulk uses its own connection, because an operation on a pooled connection ends after operationMost.
func (p *postgres) bulk(ctx context.Context, do func(*Tx) error) error {
	conn, err := p.connect(ctx)
	if err != nil {
		return p.refused(err)
	}
	r := p.receipts.lend()
	on := &pgTx{ctx: ctx, conn: conn, begin: []string{"BEGIN", untilItIsDone}, owner: p.owner, receipt: r}
	err = doSafely(do, &Tx{on: on, Reading: p.clock()})
	if err != nil {
		on.rollback()
		closeSoon(conn)
		return err
	}
	err = on.commit()
	unanswered := err != nil && conn.IsClosed()
	closeSoon(conn)
	if unanswered {
		return p.unanswered(ctx, r, err)
	}
	return err
}

// unanswered returns the outcome of a commit whose connection broke with err: nil if it was committed, err if it was
// not, and ErrUnknown if that cannot be determined.
func (p *postgres) unanswered(ctx context.Context, r receipt, err error) error {
	switch done, known := p.settle(ctx, r); {
	case !known:
		return errors.Join(ErrUnknown, err)
	case done:
		return nil
	}
	return err
}

func lookPostgres(ctx context.Context, dsn string, do func(*Tx) error) error {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return unreadableURL()
	}
	configure(cfg, dsn)
	p := &postgres{name: nameOf(cfg.ConnConfig), time: Options{}.clock(0), apart: cfg.ConnConfig, limit: connectLimit{least: connectLeast}}
	conn, err := p.connect(ctx)
	if err != nil {
		return p.refused(err)
	}
	defer closeSoon(conn)
	on := &pgTx{ctx: ctx, conn: conn, begin: []string{"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", untilItIsDone}}
	defer on.rollback()
	t := &Tx{on: on}
	if err := p.setClock(t); err != nil {
		return p.refused(err)
	}
	return p.classify(doSafely(do, t))
}
