package auth

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
)

// tokens are those of two runs, one of which has ended.
type tokens struct{}

func (tokens) Granted(_ context.Context, token string) (mapping.Principal, bool, error) {
	switch token {
	case "token-at-work":
		return mapping.Principal{ID: "run:1", Rights: []string{mapping.RightStore}}, true, nil
	case "token-ended":
		return mapping.Principal{}, true, mapping.Errorf(mapping.Unauthorized, "unauthorized", "ended")
	}
	return mapping.Principal{}, false, nil
}

// A token of a run is accepted with and without configured keys. That of an ended run gives no access, and does not
// count as a guess.
func TestRunsHaveTokens(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]*Callers{"with keys": keys(t), "without": callers(t, config.Auth{})} {
		g, err := NewGate(k, tokens{})
		if err != nil {
			t.Fatal(err)
		}
		ask := func(header, value string) string {
			r := httptest.NewRequest("GET", "/store/items", nil)
			r.Header.Set(header, value)
			who, err := g.Authenticate(r, "192.0.2.1")
			if err != nil {
				return string(mapping.Classify(err).Class)
			}
			return who.ID + strings.Join(who.Rights, ",")
		}
		unknown := map[string]string{"with keys": "unauthorized", "without": ""}[name]
		for range 2 * wrongBurst {
			if got := ask("X-Api-Key", "token-ended"); got != "unauthorized" {
				t.Fatalf("%s: an ended one is %q", name, got)
			}
		}
		for header, value := range map[string]string{"X-Api-Key": "token-at-work", "Authorization": "Bearer token-at-work"} {
			if got := ask(header, value); got != "run:1store" {
				t.Errorf("%s: %s is %q", name, header, got)
			}
		}
		if got := ask("X-Api-Key", "token-forged"); got != unknown {
			t.Errorf("%s: a forged one is %q", name, got)
		}
	}
}
