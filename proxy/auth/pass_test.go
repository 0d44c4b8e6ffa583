package auth

import (
	"context"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
)

const aliceNext = "alice-next-0123456789abcdef"

// TestKeysAreRotatedWithoutInterruption checks that a caller may have several keys, so that one can be removed when the
// other is used everywhere. Only the requests of the removed key end.
func TestKeysAreRotatedWithoutInterruption(t *testing.T) {
	t.Parallel()
	both := callers(t, config.Auth{Keys: []config.Key{{ID: "alice", Key: alicesKey, Keys: []config.Secret{aliceNext}}}})
	old, next := passOf(t, both, alicesKey), passOf(t, both, aliceNext)
	if old.ID != "alice" || next.ID != "alice" {
		t.Fatalf("they stand for %q and %q", old.ID, next.ID)
	}
	left := callers(t, config.Auth{Keys: []config.Key{{ID: "alice", Keys: []config.Secret{aliceNext}}}})
	left.Succeed(both)
	if old.life.Err() == nil || next.life.Err() != nil {
		t.Errorf("requests of the old key: %v; of the new key: %v", old.life.Err(), next.life.Err())
	}
}

func passOf(t *testing.T, c *Callers, key string) Pass {
	t.Helper()
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("X-Api-Key", key)
	pass, err := gate(t, c).Authenticate(r, "192.0.2.1")
	if err != nil {
		t.Fatal(err)
	}
	return pass
}

// TestKeysExpire checks that an expired key is refused, differently from a guess, and that its running requests end.
func TestKeysExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		end := time.Now().Add(time.Hour)
		c := callers(t, config.Auth{Keys: []config.Key{{ID: "alice", Key: alicesKey, Expires: end.Format(time.RFC3339)}}})
		pass := passOf(t, c, alicesKey)
		ctx, done := pass.Within(t.Context())
		defer done()
		<-ctx.Done()
		if late := time.Since(end); late < 0 || late > look {
			t.Errorf("it ended %s after its expiry", late)
		}
		if e := mapping.Classify(context.Cause(ctx)); e.Class != mapping.Unauthorized || e.Code != codeExpired {
			t.Errorf("it ended by %v", e)
		}
		g := gate(t, c)
		for range 2 * wrongBurst {
			r := httptest.NewRequest("GET", "/", nil)
			r.Header.Set("X-Api-Key", alicesKey)
			if _, err := g.Authenticate(r, "192.0.2.1"); err == nil || Reason(err) != "expired" {
				t.Fatalf("it is answered with %v", err)
			}
		}
	})
}

// TestJumpingClocks checks that running requests use the wall clock, and not the duration of a timer.
func TestJumpingClocks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		past := Pass{until: time.Now().Round(0).Add(-time.Minute)}
		ctx, done := past.Within(t.Context())
		defer done()
		synctest.Wait()
		if ctx.Err() == nil {
			t.Error("a request with expired credentials continues")
		}
		ahead := Pass{until: time.Now().Round(0).Add(1000 * time.Hour)}
		ctx, done = ahead.Within(t.Context())
		time.Sleep(time.Hour)
		if ctx.Err() != nil {
			t.Error("it ended before its time")
		}
		done()
	})
}

// TestRequestsWithTokensEndWithTheirIssuer checks that a change of an issuer ends the requests of its tokens, and that
// an unchanged issuer does not.
func TestRequestsWithTokensEndWithTheirIssuer(t *testing.T) {
	t.Parallel()
	l := newLogin(t)
	before := callers(t, config.Auth{JWT: []config.JWT{l.cfg()}})
	pass, err := gate(t, before).Authenticate(withToken(l.token(nil)), "192.0.2.1")
	if err != nil || pass.until.Before(time.Now()) {
		t.Fatalf("%v, until %v", err, pass.until)
	}
	same := callers(t, config.Auth{JWT: []config.JWT{l.cfg()}, Keys: []config.Key{{ID: "alice", Key: alicesKey}}})
	if same.Succeed(before); pass.life.Err() != nil {
		t.Error("it ended although nothing had changed")
	}
	if _, err := gate(t, same).Authenticate(withToken(l.token(nil)), "192.0.2.1"); err != nil || l.asked.Load() != 1 {
		t.Errorf("%v; the issuer was asked %d times", err, l.asked.Load())
	}
	other := callers(t, config.Auth{JWT: []config.JWT{l.cfg(func(c *config.JWT) { c.Rights = []string{"read"} })}})
	if other.Succeed(same); pass.life.Err() == nil {
		t.Error("it continues although it now has fewer rights")
	}
}

// TestNoCallerIsLockedOut checks that a configuration without usable callers is refused.
func TestNoCallerIsLockedOut(t *testing.T) {
	t.Parallel()
	l := newLogin(t)
	key := func(expires string, rights ...string) config.Auth {
		return config.Auth{Keys: []config.Key{{ID: "alice", Key: alicesKey, Expires: expires, Rights: rights}}}
	}
	silent := l.cfg(func(c *config.JWT) { c.JWKS = "/nonexistent/keys.json" })
	for _, tt := range []struct {
		name        string
		before, now config.Auth
		fine        bool
	}{
		{"another key", key(""), config.Auth{Keys: []config.Key{{ID: "bob", Key: bobsKey}}}, true},
		{"an expired key", key(""), key("2020-01-01T00:00:00Z"), false},
		{"a key for metrics", key(""), key("", "metrics"), false},
		{"nobody could call before", key("2020-01-01T00:00:00Z"), key("2020-01-02T00:00:00Z"), true},
		{"an issuer that responds", key(""), config.Auth{JWT: []config.JWT{l.cfg()}}, true},
		{"an issuer that does not respond", key(""), config.Auth{JWT: []config.JWT{silent}}, false},
		{"an issuer that does not respond, and a key", key(""), config.Auth{JWT: []config.JWT{silent}, Keys: key("").Keys}, true},
		{"a certificate", key(""), config.Auth{Certificates: []config.Certificate{{ID: "c", SAN: "c"}}}, true},
		{"everybody", key(""), config.Auth{}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if err := callers(t, tt.before).Replaceable(t.Context(), callers(t, tt.now)); (err == nil) != tt.fine {
				t.Errorf("it is answered with %v", err)
			}
		})
	}
}

// TestReloadWhileTheIssuerIsUnavailable checks that an unchanged issuer keeps its keys, so that other settings can
// change while it does not answer.
func TestReloadWhileTheIssuerIsUnavailable(t *testing.T) {
	t.Parallel()
	l := newLogin(t)
	before := callers(t, config.Auth{JWT: []config.JWT{l.cfg()}})
	if _, err := before.token(t.Context(), l.token(nil)); err != nil {
		t.Fatal(err)
	}
	l.Close()
	same, other := callers(t, config.Auth{JWT: []config.JWT{l.cfg()}}), callers(t, config.Auth{JWT: []config.JWT{l.cfg(func(c *config.JWT) { c.Leeway++ })}})
	if err := before.Replaceable(t.Context(), other); err == nil {
		t.Error("an issuer with unknown keys was accepted")
	}
	if err := before.Replaceable(t.Context(), same); err != nil {
		t.Errorf("the same issuer: %v", err)
	}
	same.Succeed(before)
	if _, err := same.token(t.Context(), l.token(says{"sub": "later"})); err != nil {
		t.Errorf("its tokens: %v", err)
	}
}
