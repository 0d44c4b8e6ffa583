package auth

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apbridge/apbridge/config"
)

// asking is a gate as seen by callers.
type asking struct {
	*testing.T
	gate *Gate
}

func newAsking(t *testing.T) asking {
	t.Helper()
	return asking{t, gate(t, keys(t))}
}

// gate returns a gate without known addresses.
func gate(t *testing.T, k *Callers) *Gate {
	t.Helper()
	g, err := NewGate(k, nil)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// try returns "" for an accepted key, or the reason of the refusal.
func (a asking) try(from, key string) string {
	r := httptest.NewRequest("GET", "/threads", nil)
	r.Header = http.Header{"X-Api-Key": {key}}
	who, err := a.gate.Authenticate(r, from)
	if err == nil && who.ID == "" || err != nil && who.ID != "" {
		a.Errorf("key %s from %s: %v, %v", key, from, who, err)
	}
	if err == nil {
		return ""
	}
	return Reason(err)
}

func (a asking) want(from, key, reason string) {
	a.Helper()
	if got := a.try(from, key); got != reason {
		a.Errorf("key %s from %s: %q, want %q", key, from, got, reason)
	}
}

func (a asking) guess(from string, times int) {
	for i := range times {
		a.try(from, fmt.Sprintf("guess-%d", i))
	}
}

// TestWrongKeysAreSlowed checks that an address that guesses keys is refused without a check, while keys that were
// right from there before, and other addresses, continue to work (E18).
func TestWrongKeysAreSlowed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t)
		const here, there = "192.0.2.1", "192.0.2.2"
		a.want(here, alicesKey, "")
		a.guess(here, wrongBurst-1)
		a.want(here, "one more", "wrong")
		a.want(here, "one too many", "slowed")
		a.want(here, bobsKey, "slowed") // otherwise a right guess could be recognised
		a.want(here, alicesKey, "")
		a.want(there, bobsKey, "")
		time.Sleep(wrongInterval)
		a.want(here, "later", "wrong")
		a.want(here, bobsKey, "slowed")
		time.Sleep(wrongInterval)
		a.want(here, bobsKey, "")
	})
}

// TestTokensAreRenewedDespiteAGuesser checks that a client with a wrong key does not lock out a client at the same
// address that renews its token. A wrong token is refused like a wrong key (E18).
func TestTokensAreRenewedDespiteAGuesser(t *testing.T) {
	t.Parallel()
	l := newLogin(t)
	a := asking{t, gate(t, callers(t, config.Auth{JWT: []config.JWT{l.cfg()}}))}
	const here = "192.0.2.1"
	a.guess(here, wrongBurst)
	a.want(here, "one too many", "slowed")
	a.want(here, l.token(says{"sub": "renewed"}), "")
	a.want(here, l.token(says{"aud": "another"}), "slowed")
	a.want(here, l.token(nil)+"x", "slowed")
}

// TestRightKeysAreNotCounted checks that right keys and requests without a key do not count as attempts (E18).
func TestRightKeysAreNotCounted(t *testing.T) {
	t.Parallel()
	a := newAsking(t)
	for range 3 * wrongBurst {
		a.want("192.0.2.1", alicesKey, "")
		a.want("192.0.2.1", "", "missing")
	}
	a.want("192.0.2.1", "wrong", "wrong")
}

// TestAddressesOfOneHost checks that all IPv6 addresses of a host count as one (E18).
func TestAddressesOfOneHost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t)
		for i := range wrongBurst {
			a.want(fmt.Sprintf("2001:db8:1:2:%x::1", i), "wrong", "wrong")
		}
		a.want("2001:db8:1:2:ffff::1", "wrong", "slowed")
		a.want("2001:db8:1:3::1", "wrong", "wrong")
		a.want("::ffff:192.0.2.1", "wrong", "wrong")
	})
}

// TestRememberedAddressesAreLimited checks that the memory for addresses is limited (E18).
func TestRememberedAddressesAreLimited(t *testing.T) {
	t.Parallel()
	a := newAsking(t)
	for i := range keptAddresses + 500 {
		from := fmt.Sprintf("10.%d.%d.1", i/256, i%256)
		a.try(from, "wrong")
		a.try(from, alicesKey)
	}
	if wrong, right := a.gate.wrong.Len(), a.gate.right.Len(); wrong > keptAddresses || right > keptAddresses {
		t.Errorf("%d addresses with wrong keys and %d with right ones are kept", wrong, right)
	}
}
