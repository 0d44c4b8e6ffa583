package item_test

import (
	"context"
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/storetest/blank"
	"go.uber.org/zap"
)

// harness is an open database with the shorthands of the suite. It is opened like the program does, since that creates
// the tables.
type harness struct {
	*store.Store
	t   testing.TB
	ctx context.Context
}

// opener opens an empty database.
type opener func(t testing.TB, o ...store.Options) *harness

// onBoth runs a test over both kinds of databases.
func onBoth(t *testing.T, test func(t *testing.T, open opener)) {
	t.Helper()
	blank.Databases(t, func(t *testing.T, fresh func(testing.TB) string) {
		test(t, func(t testing.TB, o ...store.Options) *harness {
			t.Helper()
			return openAt(t, fresh(t), append(o, store.Options{Synchronous: "normal"})[0])
		})
	})
}

func openAt(t testing.TB, path string, o store.Options) *harness {
	t.Helper()
	s, err := store.Open(context.Background(), path, o, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return &harness{Store: s, t: t, ctx: context.Background()}
}

func (b *harness) ok(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// as returns the harness for a principal of another tenant.
func (b *harness) as(tenant string) *harness {
	c := *b
	c.ctx = mapping.WithPrincipal(b.ctx, mapping.Principal{ID: "key-" + tenant, Tenant: tenant})
	return &c
}

func wantClass(t testing.TB, err error, class mapping.Class, code string) {
	t.Helper()
	e := mapping.Classify(err)
	if err == nil || e.Class != class || code != "" && e.Code != code {
		t.Fatalf("got error %v, want class %s code %s", err, class, code)
	}
}

// later is a clock set by a test.
type later struct{ at time.Time }

func (l *later) now() time.Time { return l.at }
