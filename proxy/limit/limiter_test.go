package limit

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
)

// ofKey returns a Limiter of one key, "bound" of tenant "acme".
func ofKey(t *testing.T, most config.Allowance, ledger Ledger) (*Limiter, mapping.Principal) {
	t.Helper()
	cfg := &config.Config{}
	cfg.Auth.Keys = []config.Key{{ID: "bound", Tenant: "acme", Limits: most}}
	l, err := New(NewAllowances(cfg), ledger, nil)
	if err != nil {
		t.Fatal(err)
	}
	return l, mapping.Principal{ID: "bound", Tenant: "acme"}
}

// account is a Ledger like that of the database.
type account struct {
	mu    sync.Mutex
	used  map[string]time.Time // time up to which each line is used up
	asked int
	away  error
}

func newAccount() *account { return &account{used: map[string]time.Time{}} }

func (a *account) Take(_ context.Context, name string, cost, span time.Duration) (time.Duration, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.asked++; a.away != nil {
		return 0, a.away
	}
	now := time.Now()
	from := a.used[name]
	if now.Sub(from) > span {
		from = now.Add(-span)
	}
	if wait := from.Add(cost).Sub(now); wait > 0 {
		return wait, nil
	}
	a.used[name] = from.Add(cost)
	return 0, nil
}

func (a *account) Left(_ context.Context, name string, span time.Duration) (time.Duration, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return min(span, time.Since(a.used[name])), nil
}

// kinds are the two implementations of rates.
func kinds() map[string]Ledger { return map[string]Ledger{"in memory": nil, "shared": newAccount()} }

// step is one use of a rate.
type step struct {
	after    time.Duration // the previous step
	take     int64
	giveBack int64         // of those just taken
	wait     time.Duration // it is refused, with this time to wait
}

// TestRates checks that a whole span's worth is available at once, that more becomes available as time passes, and that
// no more than a span's worth is saved up. Returned ones can be taken again exactly.
func TestRates(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for name, tt := range map[string]struct {
		rate  config.Rate
		steps []step
	}{
		"a span's worth at once":       {"3/m", []step{{take: 1}, {take: 1}, {take: 1}, {take: 1, wait: 20 * s}}},
		"more as time passes":          {"3/m", []step{{take: 3}, {after: 19 * s, take: 1, wait: s}, {after: s, take: 1}, {take: 1, wait: 20 * s}}},
		"all of it after a span":       {"3/m", []step{{take: 3}, {after: time.Minute, take: 3}, {take: 1, wait: 20 * s}}},
		"no more than a span is saved": {"3/m", []step{{after: time.Hour, take: 3}, {take: 1, wait: 20 * s}}},
		"a request for several":        {"4/m", []step{{take: 3}, {take: 3, wait: 30 * s}, {take: 1}, {take: 1, wait: 15 * s}}},
		"a refusal takes nothing":      {"2/m", []step{{take: 2}, {take: 2, wait: time.Minute}, {take: 2, wait: time.Minute}, {after: 30 * s, take: 1}}},
		"returned":                     {"2/m", []step{{take: 2, giveBack: 1}, {take: 1}, {take: 1, wait: 30 * s}}},
		"returning does not add":       {"10/s", []step{{take: 10}, {after: s, take: 10, giveBack: 10}, {after: s, take: 10}, {take: 1, wait: s / 10}}},
		"a day":                        {"1/d", []step{{take: 1}, {after: time.Hour, take: 1, wait: 23 * time.Hour}}},
		"two taken, one returned":      {"2/h", []step{{take: 2, giveBack: 1}, {take: 2, wait: 30 * time.Minute}, {take: 1}}},
	} {
		for kind, ledger := range kinds() {
			t.Run(name+" "+kind, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					l, who := ofKey(t, config.Allowance{Runs: tt.rate}, ledger)
					for i, do := range tt.steps {
						time.Sleep(do.after)
						giveBack, err := l.Take(t.Context(), who, Runs, do.take)
						if e := (*mapping.Error)(nil); do.wait == 0 && err != nil || do.wait > 0 && (!errors.As(err, &e) || e.Wait != do.wait || e.Code != "limit_runs") {
							t.Fatalf("step %d: %v, want to wait %s", i, err, do.wait)
						}
						giveBack(do.giveBack)
					}
				})
			})
		}
	}
}

// TestRatesOfManyAtOnce checks that, of a hundred repeated callers, as many succeed as the rate allows, and that
// refusals use up nothing. Concurrent returns add nothing.
func TestRatesOfManyAtOnce(t *testing.T) {
	t.Parallel()
	for kind, ledger := range kinds() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l, who := ofKey(t, config.Allowance{Runs: "100/s"}, ledger)
				var got atomic.Int64
				ask := func(seconds int, keep bool) int64 {
					got.Store(0)
					var all sync.WaitGroup
					for range 100 {
						all.Go(func() {
							for range seconds * 20 {
								giveBack, err := l.Take(t.Context(), who, Runs, 1)
								if err == nil && keep {
									got.Add(1)
								}
								time.Sleep(time.Second / 20)
								if err == nil && !keep {
									giveBack(1)
								}
							}
						})
					}
					all.Wait()
					return got.Load()
				}
				if n := ask(10, true); n < 1050 || n > 1100 {
					t.Errorf("%d in 10 seconds, want 100 and 100 for each", n)
				}
				time.Sleep(time.Second)
				if n := ask(1, true); n < 190 || n > 200 {
					t.Errorf("%d in a second after a quiet one, want 200", n)
				}
				ask(5, false)
				if n := ask(1, true); n > 205 {
					t.Errorf("%d in a second after some were returned, want 200 at most", n)
				}
			})
		})
	}
}

// TestLotsOfTheLedger checks that the ledger is rarely used, and not at all while it is known to be empty.
func TestLotsOfTheLedger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAccount()
		l, who := ofKey(t, config.Allowance{Requests: "1000/s"}, a)
		for range 1000 {
			if err := l.Request(t.Context(), who); err != nil {
				t.Fatal(err)
			}
		}
		full := a.asked
		for range 1000 {
			if l.Request(t.Context(), who) == nil {
				t.Fatal("more than the rate")
			}
		}
		if full != lotsASecond || a.asked > full+2 {
			t.Errorf("%d calls while there was something left, and %d calls afterwards", full, a.asked-full)
		}
		a.away = errors.New("gone")
		time.Sleep(time.Second)
		if err := l.Request(t.Context(), who); !errors.Is(err, a.away) {
			t.Errorf("without the ledger: %v", err)
		}
	})
}

// TestSubjectsOfLimits checks that a key has its own limits and those of its tenant, and that a key with the same id in
// another tenant has only the latter. A refusal by one limit does not count towards the other.
func TestSubjectsOfLimits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := &config.Config{}
		cfg.Auth.Keys = []config.Key{{ID: "bound", Tenant: "acme", Limits: config.Allowance{Runs: "5/h"}}}
		cfg.Limits.Tenant = config.Allowance{Runs: "3/h"}
		cfg.Limits.Tenants = map[string]config.Allowance{"other": {}}
		var told []string
		l, err := New(NewAllowances(cfg), nil, func(limit, of string) { told = append(told, limit+" of "+of) })
		if err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			who   mapping.Principal
			n     int64
			place string // the key of the limit that refuses; "" if it is allowed
		}{
			{mapping.Principal{ID: "bound", Tenant: "acme"}, 4, "limits.tenant.runs"},
			{mapping.Principal{ID: "bound", Tenant: "acme"}, 2, ""},
			{mapping.Principal{ID: "another", Tenant: "acme"}, 1, ""},
			{mapping.Principal{ID: "bound", Tenant: "acme"}, 1, "limits.tenant.runs"},
			{mapping.Principal{ID: "bound", Tenant: "third"}, 3, ""},
			{mapping.Principal{ID: "bound", Tenant: "other"}, 1000, ""},
			{mapping.Principal{}, 3, ""},
			{mapping.Principal{}, 1, "limits.tenant.runs"},
		} {
			_, err := l.Take(t.Context(), tt.who, Runs, tt.n)
			if (err == nil) != (tt.place == "") || err != nil && !strings.Contains(err.Error(), tt.place) {
				t.Errorf("%+v, %d: %v", tt.who, tt.n, err)
			}
		}
		if len(told) != 3 || told[0] != "runs of tenant" {
			t.Errorf("reported %v", told)
		}
		cfg.Limits.Tenant = config.Allowance{}
		l.allowed.Reconfigure(cfg)
		if _, err := l.Take(t.Context(), mapping.Principal{ID: "bound", Tenant: "acme"}, Runs, 3); err != nil {
			t.Errorf("a refusal by the tenant's limit counts towards the key: %v", err)
		}
	})
}

// TestOpenStreamsAreCounted checks the number of open streams, and that ending a stream twice frees only one.
func TestOpenStreamsAreCounted(t *testing.T) {
	t.Parallel()
	l, who := ofKey(t, config.Allowance{Streams: 10}, nil)
	var open atomic.Int64
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			for range 100 {
				done, err := l.OpenStream(who)
				if err != nil {
					continue
				}
				if n := open.Add(1); n > 10 {
					t.Errorf("%d are open", n)
				}
				open.Add(-1)
				done()
				done()
			}
		})
	}
	all.Wait()
	if len(l.open) != 0 {
		t.Errorf("still open: %v", l.open)
	}
	for i := range 11 {
		if _, err := l.OpenStream(who); (err != nil) != (i == 10) {
			t.Errorf("stream %d: %v", i, err)
		}
	}
}
