package sqldb

import (
	"context"
	"io"
	"net"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/storetest"
)

func slowly(t *Tx) error {
	var done bool
	return t.Get(`SELECT pg_sleep(0.3) IS NOT NULL`, nil, []any{&done})
}

// Time limits set for a role or a database end neither operations nor connections of the bridge.
func TestTimeLimitsOfTheDatabaseEndNoOperation(t *testing.T) {
	t.Parallel()
	c := storetest.Private(t)
	c.Exec(`ALTER DATABASE test SET statement_timeout = 100`, `ALTER DATABASE test SET lock_timeout = 50`, `ALTER DATABASE test SET idle_session_timeout = 200`)
	a := openDB(t, c.URL(), Options{})
	ok(t, addRow(a))
	listens := `SELECT coalesce(min(pid), 0) FROM pg_stat_activity WHERE query LIKE 'LISTEN %'`
	listener := 0
	for listener == 0 {
		listener = count(t, c.URL(), listens)
	}
	for what, err := range map[string]error{
		"write": a.Write(t.Context(), slowly),
		"read":  a.Read(t.Context(), slowly),
		"look":  Look(t.Context(), c.URL(), nil, slowly),
		"bulk":  a.on.bulk(t.Context(), slowly),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	locker, let := lockRows(t, c.URL())
	done := make(chan error, 1)
	go func() {
		done <- a.Write(context.Background(), func(t *Tx) error {
			_, err := t.Exec(`UPDATE blobs SET loose = 1`)
			return err
		})
	}()
	for count(t, c.URL(), `SELECT count(*) FROM pg_stat_activity WHERE cardinality(pg_blocking_pids(pid)) > 0 AND now() - query_start > interval '150 ms'`) == 0 {
		select {
		case err := <-done:
			t.Fatalf("the statement did not wait for %d: %v", locker, err)
		default:
		}
	}
	let()
	ok(t, <-done)
	if now := count(t, c.URL(), listens); now != listener {
		t.Errorf("process %d was listening, now %d is", listener, now)
	}
}

// A limit in the URL applies to the bridge. An operation that it ended may succeed later.
func TestATimeLimitOfTheURLHolds(t *testing.T) {
	t.Parallel()
	for _, limit := range []string{"&statement_timeout=100", "&options=-c%20statement_timeout%3D100"} {
		a := openDB(t, storetest.Schema(t)+limit, Options{})
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		err := a.Write(ctx, slowly)
		stop()
		if mapping.Classify(err).Class != mapping.Unavailable || stateOf(err) != pgCanceled {
			t.Errorf("%s: %v", limit, err)
		}
	}
}

// slow is a proxy to the server of dsn with a delay that the test sets.
type slow struct {
	by atomic.Int64 // a time.Duration
}

func slowTo(t *testing.T, dsn string) (*slow, string) {
	t.Helper()
	u, err := url.Parse(dsn)
	ok(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	t.Cleanup(func() { _ = l.Close() })
	s, server := &slow{}, u.Host
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			time.AfterFunc(time.Duration(s.by.Load()), func() {
				defer client.Close()
				to, err := net.Dial("tcp", server)
				if err != nil {
					return
				}
				go func() { _, _ = io.Copy(to, client); _ = to.Close() }()
				_, _ = io.Copy(client, to)
			})
		}
	}()
	u.Host = l.Addr().String()
	return s, u.String()
}

// A server that takes unusually long to accept connections can still be used.
func TestASlowServerIsReached(t *testing.T) {
	t.Parallel()
	const usual, slowly = 100 * time.Millisecond, 500 * time.Millisecond
	s, dsn := slowTo(t, storetest.Schema(t))
	a := openDB(t, dsn, Options{connect: usual})
	s.by.Store(int64(slowly))
	a.on.(*postgres).pool.Reset()
	ok(t, addRow(a))
	ok(t, a.Close())
	b := openDB(t, dsn, Options{connect: usual})
	ok(t, addRow(b))
}

func TestConnectLimitGrowsWhileAttemptsFail(t *testing.T) {
	t.Parallel()
	l, now := connectLimit{least: connectLeast}, time.Now()
	begins := func(after, want time.Duration) {
		t.Helper()
		now = now.Add(after)
		if got := l.begin(now); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
	begins(0, 5*time.Second)
	begins(time.Second, 5*time.Second) // concurrent with the first
	begins(4*time.Second, 10*time.Second)
	begins(10*time.Second, 20*time.Second)
	begins(time.Hour, 20*time.Second)
	l.succeeded(7 * time.Second)
	begins(time.Minute, 14*time.Second)
	l.succeeded(time.Second)
	begins(time.Minute, 5*time.Second)
}
