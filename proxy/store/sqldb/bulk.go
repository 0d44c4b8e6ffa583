package sqldb

import (
	"context"
	"errors"

	"github.com/apbridge/apbridge/proxy/store/seal"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/zap"
)

// Fill opens the database at dsn, as Open does, and runs do as one operation that may take as long as it likes. do is
// called once. Its error, the end of ctx, and the death of the process leave nothing of it behind.
func Fill(ctx context.Context, dsn string, o Options, log *zap.Logger, do func(*Tx) error) error {
	d, err := Open(ctx, dsn, o, log)
	if err != nil {
		return err
	}
	return errors.Join(d.on.classify(d.on.bulk(ctx, d.sealing(do))), d.Close())
}

// Look runs do on one consistent view of the database at dsn, for as long as do takes, whether other processes use the
// database or not. Bodies are opened with keys; nil: with none. It changes nothing: tables of an older version stay as
// they are (SchemaOf tells).
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

// The server ends transactions of ours that say nothing for idleMost, but these may wait for a file or a pipe.
const untilItIsDone = "SET LOCAL idle_in_transaction_session_timeout = 0"

// bulk has a connection of its own: those of the pool serve one operation for operationMost.
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

// unanswered is what became of a commit that failed with err and its connection.
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
