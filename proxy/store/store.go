package store

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	lru "github.com/hashicorp/golang-lru/v2"
	"go.uber.org/zap"
)

// Options of Open.
type Options struct {
	Synchronous string // full (default) | normal
	// Limit is how many bytes a SQLite file may grow to, 0 for as many as the disk
	// holds; a larger one keeps its size. What does not fit is refused as
	// mapping.StorageFull. PostgreSQL does not look at it.
	Limit int64
	// Crons is how many a tenant may have; 0: any number.
	Crons int
	// Owner is the id of this process in leases; "" makes one.
	Owner string
	Now   func() time.Time // nil: time.Now; PostgreSQL: the time of the database
}

// Store is the record of everything. Safe for concurrent use. Every method is
// scoped to what the principal in ctx (mapping.PrincipalOf) may see (see scope),
// unless its comment says otherwise. Errors the caller may show are *mapping.Error.
type Store struct {
	db        *sqldb.DB
	owner     string
	mostCrons int // of a tenant; 0: any number
	log       *zap.Logger
	// runs are the keys of runs' rows, which appends ask for again and again. Only
	// operations that write fill it, after their commit, and deletions empty it: on
	// SQLite a key number may be used again for another row. The id of a run is
	// never used again.
	runs   *lru.Cache[string, runKey]
	swept  atomic.Int64          // when expired items were removed last
	behind atomic.Pointer[error] // why Recover has not succeeded; nil once it has
	holds  updateHolds
	// Doorbells: a delivery, a thread's time to go, a cron.
	outbox, expiries, crons chan struct{}
}

// runKey is where a run's rows are. tokens: its row says that it has some;
// shared: others may run on its thread meanwhile.
type runKey struct {
	run, thread    int64
	tokens, shared bool
}

// keysKept bounds the cache of keys: about 2 MB when full.
const keysKept = 8192

// Open opens the database at dsn and brings its tables up to date.
//
// A path is a SQLite file. A missing one is created if its folder exists. What
// cannot be used (in use by another process, not a database, truncated,
// read-only, newer than this program, gone where one was) is refused with an
// error that names the path and says what to do.
//
// postgres://… is a PostgreSQL database, version 13 or later, which any number
// of processes may use at once; the tables are made in the first schema of its
// search_path that exists. It tells the time: Options.Now is for tests.
func Open(ctx context.Context, dsn string, o Options, log *zap.Logger) (*Store, error) {
	s := &Store{
		log: log, mostCrons: o.Crons,
		outbox: make(chan struct{}, 1), expiries: make(chan struct{}, 1), crons: make(chan struct{}, 1),
	}
	var err error
	if s.runs, err = lru.New[string, runKey](keysKept); err != nil {
		return nil, err
	}
	if s.db, err = sqldb.Open(ctx, dsn, o.ofDB(), log); err != nil {
		return nil, err
	}
	s.owner = s.db.Owner()
	if err := s.start(ctx); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

func (o Options) ofDB() sqldb.Options {
	return sqldb.Options{Synchronous: o.Synchronous, Limit: o.Limit, Owner: o.Owner, Holdings: holdings{}, Now: o.Now}
}

// start recovers. A file on a full disk can be read all the same; see Recover.
func (s *Store) start(ctx context.Context) error {
	s.behind.Store(&errNotRecovered)
	err := s.Recover(ctx)
	if err != nil && !s.Shared() && mapping.Classify(err).Class == mapping.StorageFull {
		s.log.Warn("the database can be read, but not written to", zap.Error(err))
		return nil
	}
	return err
}

// Recover frees what processes that are gone have left behind. Open has done that,
// unless the disk of a SQLite file was full (mapping.StorageFull): then it is to be
// called until it succeeds. Later calls do nothing. It belongs to no tenant.
func (s *Store) Recover(ctx context.Context) error {
	if s.behind.Load() == nil {
		return nil
	}
	err := s.db.Recover(ctx)
	if err == nil {
		err = s.db.Write(ctx, sweepBlobs)
	}
	if err != nil {
		s.behind.Store(&err)
		return err
	}
	s.behind.Store(nil)
	return nil
}

// Abandoned reports whether the SQLite database at path has been used and no process
// uses it now.
func Abandoned(path string) bool { return sqldb.Abandoned(path) }

// Close waits for writes under way, interrupts reads, gives up what this process holds where
// others may take it, and closes the database.
func (s *Store) Close() error {
	if s.db.Leave(context.Background()) == nil {
		s.db.Notify(Notice{Kind: NoticePending})
	}
	return s.db.Close()
}

// Owner is the id of this process in leases.
func (s *Store) Owner() string { return s.owner }

// Shared tells whether other processes may use the database at the same time,
// so that leases end and Notices come.
func (s *Store) Shared() bool { return s.db.Shared() }

// Ping tells whether the database answers, whether it could be written to when
// that was tried last, and whether Recover has succeeded. It belongs to no tenant.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.db.Ping(ctx); err != nil {
		return err
	}
	if err := s.behind.Load(); err != nil {
		return *err
	}
	return nil
}

var errNotRecovered error = mapping.Errorf(mapping.Unavailable, sqldb.CodeUnavailable, "What an earlier process left behind is not picked up yet. Try again in a moment.")

// LogSize is how large SQLite's write-ahead log is; ok is false where there is none
// of ours, on PostgreSQL.
func (s *Store) LogSize() (bytes int64, ok bool) { return s.db.LogSize() }

// Flush returns when all that was committed before the call is on the disk: see DB.Flush.
func (s *Store) Flush() error { return s.db.Flush() }

func tenantOf(ctx context.Context) string { return mapping.PrincipalOf(ctx).Tenant }
