package auth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/go-jose/go-jose/v4"
)

// TestMisbehavingIssuers checks that an issuer's responses are limited in size, keys and time, and that redirects are
// not followed. While its keys are unavailable, its tokens are refused (E19).
func TestMisbehavingIssuers(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	t.Cleanup(other.Close)
	many := jose.JSONWebKeySet{}
	for range maxKeys + 1 {
		key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		many.Keys = append(many.Keys, jwkOf("x", key.Public()))
	}
	thousands, _ := json.Marshal(many)
	says := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) }
	}
	for name, answer := range map[string]http.HandlerFunc{
		"a redirect":                func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, http.StatusFound) },
		"an error":                  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"thousands of keys":         says(string(thousands)),
		"no keys":                   says(`{"keys":[]}`),
		"secrets instead of keys":   says(`{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}`),
		"no JSON":                   says("<html>"),
		"something else":            says(`[]`),
		"more bytes than keys need": says(`{"keys":[],"x":"` + strings.Repeat("x", maxSource) + `"}`),
		"an endless response":       flood,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLogin(t)
			l.does(answer)
			cfg := l.cfg(func(c *config.JWT) { c.JWKS = l.URL + "/keys" })
			g := l.gate(cfg)
			for range 3 {
				_, err := g.Authenticate(withToken(l.token(nil)), "192.0.2.1")
				if err == nil || mapping.Classify(err).Class != mapping.Unavailable || Reason(err) != "issuer" {
					t.Fatalf("a token is answered with %v", err)
				}
				if wait := mapping.Classify(err).Wait; wait <= time.Second || wait > keysPause {
					t.Errorf("it should be sent again after %v, but the issuer has not been queried again", wait)
				}
			}
			if n := l.asked.Load(); n > 1 {
				t.Errorf("it was asked %d times for three tokens", n)
			}
		})
	}
}

func flood(w http.ResponseWriter, r *http.Request) {
	for r.Context().Err() == nil {
		if _, err := w.Write(make([]byte, 1<<16)); err != nil {
			return
		}
	}
}

// TestDiscoveryCannotLeadToAPrivateNetwork checks that an issuer's discovery is followed only to public addresses
// (E19).
func TestDiscoveryCannotLeadToAPrivateNetwork(t *testing.T) {
	t.Parallel()
	for _, to := range []string{"http://127.0.0.2:1/keys", "https://127.0.0.1:1/keys", "https://169.254.169.254/keys", "https://10.0.0.1/keys", "https://[::1]:1/keys", "https://[::ffff:10.0.0.1]/keys", "file:///etc/passwd", "", "https://a:b@issuer.example/"} {
		s := newSource(config.JWT{Issuer: "https://issuer.example"})
		client, err := s.leading(to)
		if err == nil {
			_, err = get(t.Context(), client, to)
		}
		if err == nil || !strings.Contains(err.Error(), "jwks_uri") {
			t.Errorf("%s: %v", to, err)
		}
	}
}

// TestKeysOfTheIssuer checks that the issuer is queried when the first token names a new key, that made-up key ids
// cause no queries, and that old keys are used while the issuer is unavailable, as long as the configuration allows
// (E19).
func TestKeysOfTheIssuer(t *testing.T) {
	t.Parallel()
	l := newLogin(t)
	c := callers(t, config.Auth{JWT: []config.JWT{l.cfg()}})
	g, keys := gate(t, c), c.issuers[l.URL].keys
	later := func(by time.Duration) {
		keys.mu.Lock()
		defer keys.mu.Unlock()
		keys.asked, keys.read = keys.asked.Add(-by), keys.read.Add(-by)
	}
	ask := func(token, want string) {
		t.Helper()
		got := ""
		if _, err := g.Authenticate(withToken(token), "192.0.2.1"); err != nil {
			got = Reason(err)
		}
		if got != want {
			t.Errorf("the reason for a token is %q, want %q", got, want)
		}
	}
	asked := func(want int64) {
		t.Helper()
		if n := l.asked.Load(); n != want {
			t.Errorf("the issuer was asked %d times, want %d", n, want)
		}
	}
	ask(l.token(nil), "")
	second, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	fresh := l.signed(jose.ES256, second, "two", nil)
	for range 5 {
		ask(fresh, "wrong")
	}
	asked(1)
	l.shows(jwkOf("two", second.Public()))
	later(keysPause)
	ask(fresh, "")
	ask(l.token(nil), "wrong") // its key was withdrawn
	asked(2)
	l.does(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	later(keysFresh)
	ask(fresh, "")
	<-quiet(keys)
	asked(2) // discovery failed, so the keys were not requested
	later(24*time.Hour - keysFresh - time.Minute)
	ask(fresh, "")
	<-quiet(keys)
	later(2 * time.Minute)
	ask(fresh, "issuer")
	l.shows(jwkOf("two", second.Public()))
	later(keysPause)
	ask(fresh, "")
}

// TestDiscoveryOfAnotherIssuer checks that a discovery document with another issuer name than the configured one is not
// used (E19).
func TestDiscoveryOfAnotherIssuer(t *testing.T) {
	t.Parallel()
	l := newLogin(t)
	name := "https://other.example"
	keys, _ := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{jwkOf("one", l.key.Public())}})
	l.does(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, discovery) {
			_, _ = w.Write(keys)
			return
		}
		raw, _ := json.Marshal(map[string]string{"issuer": name, "jwks_uri": l.URL + "/keys"})
		_, _ = w.Write(raw)
	})
	if _, err := l.gate(l.cfg()).Authenticate(withToken(l.token(nil)), "192.0.2.1"); err == nil || Reason(err) != "issuer" {
		t.Errorf("its keys are taken: %v", err)
	}
	name = l.URL
	if _, err := l.gate(l.cfg()).Authenticate(withToken(l.token(nil)), "192.0.2.1"); err != nil {
		t.Error(err)
	}
}

// quiet is closed when no request is in progress.
func quiet(s *keySet) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asking != nil {
		return s.asking
	}
	done := make(chan struct{})
	close(done)
	return done
}

// TestKeysOfAFile checks that an issuer's keys may be in a file, which is read up to a maximum size.
func TestKeysOfAFile(t *testing.T) {
	t.Parallel()
	l := newLogin(t)
	file := filepath.Join(t.TempDir(), "keys.json")
	raw, _ := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{jwkOf("one", l.key.Public())}})
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{file: "", file + "-not": "issuer", "/dev/zero": "issuer"} {
		got := ""
		if _, err := l.gate(l.cfg(func(c *config.JWT) { c.JWKS = name })).Authenticate(withToken(l.token(nil)), "192.0.2.1"); err != nil {
			got = Reason(err)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if n := l.asked.Load(); n != 0 {
		t.Errorf("the issuer was asked %d times", n)
	}
}
