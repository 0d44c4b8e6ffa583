package auth

import (
	"net/http/httptest"
	"testing"

	"github.com/apbridge/apbridge/config"
)

// TestRunningRequestsEndWithTheirKey checks whether running requests continue after different changes of their key.
func TestRunningRequestsEndWithTheirKey(t *testing.T) {
	t.Parallel()
	alice := config.Key{ID: "alice", Key: alicesKey, Agents: []string{"a", "b"}, Queue: 1}
	changed := func(change func(*config.Key)) []config.Key {
		k := alice
		change(&k)
		return []config.Key{{ID: "bob", Key: bobsKey}, k}
	}
	for _, tt := range []struct {
		name          string
		before, after []config.Key
		goesOn        bool
	}{
		{"it is unchanged", []config.Key{alice}, changed(func(*config.Key) {}), true},
		{"its queue has changed", []config.Key{alice}, changed(func(k *config.Key) { k.Queue = 7 }), true},
		{"it is removed", []config.Key{alice}, []config.Key{{ID: "bob", Key: bobsKey}}, false},
		{"it is replaced", []config.Key{alice}, changed(func(k *config.Key) { k.Key = "alice-fedcba9876543210" }), false},
		{"it may use fewer agents", []config.Key{alice}, changed(func(k *config.Key) { k.Agents = []string{"a"} }), false},
		{"it belongs to another tenant", []config.Key{alice}, changed(func(k *config.Key) { k.Tenant = "acme" }), false},
		{"a key is no longer needed", []config.Key{alice}, nil, false},
		{"no key was needed", nil, []config.Key{alice}, false},
		{"no key is needed", nil, nil, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := lately(t, tt.before)
			r := httptest.NewRequest("GET", "/", nil)
			r.Header.Set("X-Api-Key", alicesKey)
			who, err := g.Authenticate(r, "192.0.2.1")
			if err != nil {
				t.Fatal(err)
			}
			life := who.life
			next := lately(t, tt.after)
			next.callers.Succeed(g.callers)
			if err := life.Err(); (err == nil) != tt.goesOn {
				t.Errorf("it ends with %v", err)
			}
			third := lately(t, nil)
			if third.callers.Succeed(next.callers); tt.goesOn && len(tt.after) > 0 && life.Err() == nil {
				t.Error("it outlives the key that took over")
			}
		})
	}
}

// TestTokenOfARunIsNotAKey checks that it ends with its run.
func TestTokenOfARunIsNotAKey(t *testing.T) {
	t.Parallel()
	g, err := NewGate(keys(t), tokens{})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("X-Api-Key", "token-at-work")
	if pass, err := g.Authenticate(r, "192.0.2.1"); err != nil || pass.life != nil {
		t.Errorf("it has %v, %v", pass.life, err)
	}
}

func lately(t *testing.T, list []config.Key) *Gate {
	t.Helper()
	return gate(t, callers(t, config.Auth{Keys: list}))
}
