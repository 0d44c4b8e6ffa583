package tables_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/item"
	"github.com/apbridge/apbridge/proxy/store/storetest/blank"
	"github.com/apbridge/apbridge/proxy/store/tables"
	"go.uber.org/zap"
)

// allowed returns one quota for the key a and another for tenant acme.
func allowed(limit string, key, tenant int64) tables.AllowedQuotas {
	return func(of, at, owner string) (list []tables.Quota) {
		if of == limit && at == "acme" && owner == "a" {
			list = append(list, tables.Quota{Of: tables.QuotaOfKey, Name: owner, Most: key, Place: "of the key"})
		}
		if of == limit && at == "acme" {
			list = append(list, tables.Quota{Of: tables.QuotaOfTenant, Name: at, Most: tenant, Place: "of the tenant"})
		}
		return list
	}
}

func open(t *testing.T, dsn string, most tables.AllowedQuotas, refused func(limit, of string)) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), dsn, store.Options{Synchronous: "normal", Quotas: most, Refused: refused}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func by(t *testing.T, key, tenant string) context.Context {
	t.Helper()
	return mapping.WithPrincipal(t.Context(), mapping.Principal{ID: key, Tenant: tenant})
}

// kept lists ways to add something that is counted, and to remove it again.
var kept = map[string]struct {
	add, remove func(ctx context.Context, s *store.Store, i int) error
}{
	tables.QuotaThreads: {
		func(ctx context.Context, s *store.Store, i int) error {
			_, _, err := s.Threads.Create(ctx, store.ThreadCreation{Thread: mapping.Thread{ID: named(ctx, i)}})
			return err
		},
		func(ctx context.Context, s *store.Store, i int) error { return s.Threads.Delete(ctx, named(ctx, i)) },
	},
	tables.QuotaItems: {
		func(ctx context.Context, s *store.Store, i int) error {
			return s.Items.Put(ctx, item.Put{Item: mapping.Item{Namespace: []string{"a"}, Key: named(ctx, i), Value: json.RawMessage(`{}`)}})
		},
		func(ctx context.Context, s *store.Store, i int) error {
			return s.Items.Delete(ctx, []string{"a"}, named(ctx, i))
		},
	},
}

// named returns the ith name used by a key.
func named(ctx context.Context, i int) string {
	who := mapping.PrincipalOf(ctx)
	return fmt.Sprintf("%x0000000-0000-7000-8000-00000000%04d", who.ID[0]%16, i)
}

// A refused object was not added, and the refusal names the quota's owner and where it is configured. Deleting makes
// room at once, overwriting needs none, and other keys and tenants are not limited.
func TestQuotas(t *testing.T) {
	t.Parallel()
	blank.Databases(t, func(t *testing.T, fresh func(testing.TB) string) {
		for limit, way := range kept {
			t.Run(limit, func(t *testing.T) {
				t.Parallel()
				told := map[string]int{}
				s := open(t, fresh(t), allowed(limit, 3, 5), func(limit, of string) { told[limit+" of "+of]++ })
				a, b, other := by(t, "a", "acme"), by(t, "b", "acme"), by(t, "a", "other")
				for i, tt := range []struct {
					ctx   context.Context
					do    func(context.Context, *store.Store, int) error
					n     int
					place string // of the quota that refuses; "" if the object is added
				}{
					{a, way.add, 1, ""}, {a, way.add, 2, ""}, {a, way.add, 3, ""},
					{a, way.add, 4, "of the key"},
					{b, way.add, 1, ""}, {b, way.add, 2, ""},
					{b, way.add, 3, "of the tenant"},
					{a, way.add, 4, "of the key"},
					{other, way.add, 1, ""}, {other, way.add, 2, ""}, {other, way.add, 3, ""}, {other, way.add, 4, ""},
					{a, way.remove, 1, ""},
					{b, way.add, 3, ""},
					{a, way.add, 4, "of the tenant"},
					{b, way.remove, 3, ""},
					{a, way.add, 4, ""},
					{a, way.add, 5, "of the key"},
				} {
					err := tt.do(tt.ctx, s, tt.n)
					e := mapping.Classify(err)
					if tt.place == "" && err != nil || tt.place != "" && (err == nil || e.Code != "quota_"+limit || e.Class != mapping.Limited || !strings.Contains(e.Message, tt.place)) {
						t.Fatalf("step %d: %v, want %q", i, err, tt.place)
					}
				}
				for _, want := range []struct {
					of string
					n  int64
				}{{tables.QuotaOfKey, 3}, {tables.QuotaOfTenant, 5}} {
					if n, err := s.Usage(a, limit, want.of, mapping.PrincipalOf(a)); err != nil || n != want.n {
						t.Errorf("%d objects of the %s, %v; want %d", n, want.of, err, want.n)
					}
				}
				if told[limit+" of key"] != 3 || told[limit+" of tenant"] != 2 {
					t.Errorf("reported %v", told)
				}
			})
		}
	})
}

// If a hundred callers add objects at once, from two processes if they can share a database, exactly the permitted
// number is added.
func TestQuotasOfManyAtOnce(t *testing.T) {
	t.Parallel()
	blank.Databases(t, func(t *testing.T, fresh func(testing.TB) string) {
		for limit, way := range kept {
			t.Run(limit, func(t *testing.T) {
				t.Parallel()
				dsn := fresh(t)
				list := []*store.Store{open(t, dsn, allowed(limit, 50, 20), nil)}
				if list[0].Shared() {
					list = append(list, open(t, dsn, allowed(limit, 50, 20), nil))
				}
				var added, other atomic.Int64
				var all sync.WaitGroup
				for i := range 100 {
					all.Go(func() {
						err := way.add(by(t, "ab"[i%2:i%2+1], "acme"), list[i/2%len(list)], i)
						switch {
						case err == nil:
							added.Add(1)
						case mapping.Classify(err).Code != "quota_"+limit:
							other.Add(1)
							t.Error(err)
						}
					})
				}
				all.Wait()
				if added.Load() != 20 || other.Load() != 0 {
					t.Errorf("%d were added, want 20", added.Load())
				}
			})
		}
	})
}

// Objects added while there was no quota are included in the next count.
func TestQuotasOfUncountedRows(t *testing.T) {
	t.Parallel()
	blank.Databases(t, func(t *testing.T, fresh func(testing.TB) string) {
		for limit, way := range kept {
			t.Run(limit, func(t *testing.T) {
				t.Parallel()
				most := allowed(limit, 3, 3)
				held := false
				s := open(t, fresh(t), func(limit, tenant, owner string) []tables.Quota {
					if !held {
						return nil
					}
					return most(limit, tenant, owner)
				}, nil)
				ctx := by(t, "a", "acme")
				add := func(i int) string { return mapping.Classify(way.add(ctx, s, i)).Code }
				held = true
				add(1)
				held = false
				for i := range 5 {
					add(10 + i)
				}
				held = true
				if err := s.RecountQuotas(t.Context()); err != nil {
					t.Fatal(err)
				}
				if got := add(20); got != "quota_"+limit {
					t.Errorf("adding a seventh with a quota of three: got %q", got)
				}
			})
		}
	})
}
