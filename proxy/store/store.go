package store

import (
	"context"
	"strings"
	"time"

	"github.com/apbridge/apbridge/mapping"
	lru "github.com/hashicorp/golang-lru/v2"
	"go.uber.org/zap"
)

// Options of Open.
type Options struct {
	Synchronous string // full (default) | normal
	// Owner is the id of this process in leases; "" makes one.
	Owner string
	Now   func() time.Time // nil: time.Now
}

// Store is the record of everything. Safe for concurrent use. Every method is
// scoped to the tenant of the principal in ctx (mapping.PrincipalOf), unless
// its comment says otherwise. Errors the caller may show are *mapping.Error.
type Store struct {
	db      *sqlite
	writer  *writer
	readers *readers
	owner   string
	now     func() time.Time
	log     *zap.Logger
	// keys of rows that appends hit again and again. Only operations of the
	// writer fill them, after their commit, and deletions empty them: a key
	// number may be used again for another row.
	threads  *lru.Cache[threadName, int64]
	runs     *lru.Cache[string, runKey]
	confirms confirms
	// Doorbells: a delivery, a thread's time to go, a cron.
	outbox, expiries, crons chan struct{}
}

type threadName struct{ tenant, id string }

// runKey is where a run's rows are.
type runKey struct{ run, thread int64 }

// keysKept bounds each of the two caches of keys: about 2 MB when full.
const keysKept = 8192

// Open opens the database at dsn, a path, and brings its tables up to date. A
// missing file is created if its folder exists. What cannot be used (in use by
// another process, not a database, truncated, read-only, newer than this
// program, gone where one was) is refused with an error that names the path and
// says what to do.
func Open(ctx context.Context, dsn string, o Options, log *zap.Logger) (*Store, error) {
	if strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://") {
		return nil, refuse(dsn[:strings.Index(dsn, ":")], "PostgreSQL is not supported by this version; set database to the path of a SQLite file")
	}
	s := &Store{
		owner: o.Owner, now: o.Now, log: log,
		outbox: make(chan struct{}, 1), expiries: make(chan struct{}, 1), crons: make(chan struct{}, 1),
	}
	if s.owner == "" {
		s.owner = newOwner()
	}
	if s.now == nil {
		s.now = time.Now
	}
	db, err := openSQLite(ctx, dsn, o.Synchronous != "normal", s.micros)
	if err != nil {
		return nil, err
	}
	s.db = db
	if err := s.start(ctx); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Store) start(ctx context.Context) (err error) {
	if s.threads, err = lru.New[threadName, int64](keysKept); err != nil {
		return err
	}
	if s.runs, err = lru.New[string, runKey](keysKept); err != nil {
		return err
	}
	conn, err := s.db.session(ctx, false)
	if err != nil {
		return err
	}
	s.writer = startWriter(s.db, conn)
	s.readers = newReaders(4, func(ctx context.Context) (*session, error) { return s.db.session(ctx, true) })
	if err := s.write(ctx, s.takeOver); err != nil {
		return err
	}
	return s.write(ctx, sweepBlobs)
}

// Close waits for operations under way and closes the database.
func (s *Store) Close() error {
	if s.writer != nil {
		s.writer.close()
		s.readers.close()
		_ = s.writer.session.close()
	}
	return s.db.close()
}

// Owner is the id of this process in leases.
func (s *Store) Owner() string { return s.owner }

// Ping tells whether the database answers and can be written to. It belongs to
// no tenant.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.db.present(); err != nil {
		return err
	}
	return s.Beat(ctx, time.Minute)
}

// write runs do as one operation and returns when it is durable.
func (s *Store) write(ctx context.Context, do func(*tx) error) error {
	return s.classify(s.writer.write(ctx, false, do))
}

// writeRelaxed is write for what may be lost when the machine fails, though not
// when the process does.
func (s *Store) writeRelaxed(ctx context.Context, do func(*tx) error) error {
	return s.classify(s.writer.write(ctx, true, do))
}

// read runs do on one consistent view.
func (s *Store) read(ctx context.Context, do func(*tx) error) error {
	session, err := s.readers.take(ctx)
	if err != nil {
		return s.classify(err)
	}
	defer func() { s.readers.free <- session }()
	return s.classify(s.db.view(session, func() error {
		return do(&tx{session: session, now: s.micros()})
	}))
}

// read1 is read of a single statement, which is consistent by itself.
func (s *Store) read1(ctx context.Context, do func(*tx) error) error {
	session, err := s.readers.take(ctx)
	if err != nil {
		return s.classify(err)
	}
	defer func() { s.readers.free <- session }()
	return s.classify(do(&tx{session: session, now: s.micros()}))
}

func (s *Store) micros() int64 { return s.now().UnixMicro() }

func tenantOf(ctx context.Context) string { return mapping.PrincipalOf(ctx).Tenant }
