package auth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/google/go-cmp/cmp"
)

// says are the claims of a token.
type says = map[string]any

// login is an issuer of tokens. Its responses can be replaced and are counted.
type login struct {
	*testing.T
	*httptest.Server
	key    crypto.Signer
	answer atomic.Pointer[http.HandlerFunc]
	asked  atomic.Int64
}

func newLogin(t *testing.T) *login {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	l := &login{T: t, key: key}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, discovery) {
			l.asked.Add(1)
		}
		(*l.answer.Load())(w, r)
	}))
	t.Cleanup(l.Close)
	l.shows(jwkOf("one", key.Public()))
	return l
}

func jwkOf(id string, key any) jose.JSONWebKey { return jose.JSONWebKey{KeyID: id, Key: key} }

// shows sets the issuer's keys.
func (l *login) shows(keys ...jose.JSONWebKey) {
	raw, err := json.Marshal(jose.JSONWebKeySet{Keys: keys})
	if err != nil {
		l.Fatal(err)
	}
	l.does(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, discovery) {
			raw, _ := json.Marshal(map[string]string{"issuer": l.URL, "jwks_uri": l.URL + "/keys"})
			_, _ = w.Write(raw)
			return
		}
		_, _ = w.Write(raw)
	})
}

func (l *login) does(answer http.HandlerFunc) { l.answer.Store(&answer) }

// cfg returns the configuration of the issuer with changes.
func (l *login) cfg(change ...func(*config.JWT)) config.JWT {
	cfg := config.JWT{
		ID: "corp", Issuer: l.URL, Audience: []string{"apbridge"}, Algorithms: []string{"ES256", "RS256", "EdDSA"},
		Leeway: time.Minute, Stale: 24 * time.Hour, Claims: config.Claims{ID: "sub"}, Tenant: "acme", Scope: "own",
	}
	for _, f := range change {
		f(&cfg)
	}
	return cfg
}

// token returns a valid token with changed claims.
func (l *login) token(change says) string { return l.signed(jose.ES256, l.key, "one", change) }

func (l *login) signed(algorithm jose.SignatureAlgorithm, key any, id string, change says) string {
	l.Helper()
	said := says{"iss": l.URL, "aud": "apbridge", "sub": "alice", "exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix()}
	maps.Copy(said, change)
	maps.DeleteFunc(said, func(_ string, v any) bool { return v == nil })
	opt := (&jose.SignerOptions{}).WithType("JWT")
	if id != "" {
		opt = opt.WithHeader("kid", id)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, opt)
	if err != nil {
		l.Fatal(err)
	}
	text, err := jwt.Signed(signer).Claims(said).Serialize()
	if err != nil {
		l.Fatal(err)
	}
	return text
}

// payload returns a token with literal claims, for the issuer's URL and an expiry in an hour.
func (l *login) payload(format string) string {
	return l.sealed(fmt.Sprintf(format, l.URL, time.Now().Add(time.Hour).Unix()), &jose.SignerOptions{})
}

// critical returns a valid token with crit in its header.
func (l *login) critical(crit any) string {
	said := fmt.Sprintf(`{"iss":%q,"aud":"apbridge","sub":"alice","exp":%d}`, l.URL, time.Now().Add(time.Hour).Unix())
	return l.sealed(said, (&jose.SignerOptions{}).WithHeader("crit", crit))
}

func (l *login) sealed(payload string, opt *jose.SignerOptions) string {
	l.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: l.key}, opt)
	if err != nil {
		l.Fatal(err)
	}
	signed, err := signer.Sign([]byte(payload))
	if err != nil {
		l.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		l.Fatal(err)
	}
	return text
}

func withToken(text string) *http.Request {
	r := httptest.NewRequest("GET", "/threads", nil)
	r.Header.Set("Authorization", "Bearer "+text)
	return r
}

func (l *login) gate(cfg ...config.JWT) *Gate {
	return gate(l.T, callers(l.T, config.Auth{JWT: cfg}))
}

// bare returns a token with this header and these claims, and an invented signature.
func bare(head string, said says) string {
	raw, _ := json.Marshal(said)
	enc := base64.RawURLEncoding.EncodeToString
	return enc([]byte(head)) + "." + enc(raw) + "." + enc([]byte("signature"))
}

// TestRefusedTokens checks that a token is accepted only if the issuer signed it for this bridge and it is valid now.
// The error names the condition that failed (E19).
func TestRefusedTokens(t *testing.T) {
	t.Parallel()
	l := newLogin(t)
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	l.shows(jwkOf("one", l.key.Public()), jwkOf("ed", edwards.Public()))
	public, _ := json.Marshal(jwkOf("one", l.key.Public()))
	now := time.Now()
	good := says{"iss": l.URL, "aud": "apbridge", "sub": "alice", "exp": now.Add(time.Hour).Unix()}
	aged := l.cfg(func(c *config.JWT) { c.MaxAge = time.Hour })
	for _, tt := range []struct {
		name, token string
		cfg         config.JWT
		code        string // "" if it is accepted
	}{
		{"as it should be", l.token(nil), l.cfg(), ""},
		{"several audiences", l.token(says{"aud": []string{"x", "apbridge"}}), l.cfg(), ""},
		{"EdDSA", l.signed(jose.EdDSA, edwards, "ed", nil), l.cfg(), ""},
		{"without a key id", l.signed(jose.ES256, l.key, "", nil), l.cfg(), ""},
		{"expired within the leeway", l.token(says{"exp": now.Add(-30 * time.Second).Unix()}), l.cfg(), ""},
		{"from the future within the leeway", l.token(says{"nbf": now.Add(30 * time.Second).Unix()}), l.cfg(), ""},
		{"young enough", l.token(nil), aged, ""},
		{"algorithm none", bare(`{"alg":"none"}`, good), l.cfg(), "wrong"},
		{"no algorithm", bare(`{"typ":"JWT"}`, good), l.cfg(), "wrong"},
		{"signed with the public key as a secret", l.signed(jose.HS256, public, "one", nil), l.cfg(), "wrong"},
		{"an algorithm that is not allowed", l.token(nil), l.cfg(func(c *config.JWT) { c.Algorithms = []string{"RS256"} }), "wrong"},
		{"a key id that is a path", l.signed(jose.ES256, other, "../../../dev/null", nil), l.cfg(), "wrong"},
		{"its own key in its head", embedded(t, l, other), l.cfg(), "wrong"},
		{"another's signature", l.signed(jose.ES256, other, "one", nil), l.cfg(), "wrong"},
		{"changed", changed(l.token(nil)), l.cfg(), "wrong"},
		{"expired", l.token(says{"exp": now.Add(-2 * time.Minute).Unix()}), l.cfg(), "expired"},
		{"no end", l.token(says{"exp": nil}), l.cfg(), "wrong"},
		{"an end in words", l.token(says{"exp": "tomorrow"}), l.cfg(), "wrong"},
		{"not valid yet", l.token(says{"nbf": now.Add(2 * time.Minute).Unix()}), l.cfg(), "wrong"},
		{"issued in the future", l.token(says{"iat": now.Add(2 * time.Minute).Unix()}), l.cfg(), "wrong"},
		{"too old", l.token(says{"iat": now.Add(-2 * time.Hour).Unix()}), aged, "expired"},
		{"without a time of issue", l.token(says{"iat": nil}), aged, "wrong"},
		{"for another", l.token(says{"aud": "other"}), l.cfg(), "wrong"},
		{"for nobody", l.token(says{"aud": nil}), l.cfg(), "wrong"},
		{"from another issuer", l.token(says{"iss": l.URL + "/"}), l.cfg(), "wrong"},
		{"without an issuer", l.token(says{"iss": nil}), l.cfg(), "wrong"},
		{"without a subject", l.token(says{"sub": nil}), l.cfg(), "wrong"},
		{"with a subject that is not text", l.token(says{"sub": "a\x00"}), l.cfg(), "wrong"},
		{"with half a surrogate pair in the subject", l.payload(`{"iss":%q,"aud":"apbridge","sub":"a\ud800","exp":%d}`), l.cfg(), "wrong"},
		{"with half a surrogate pair in the tenant", l.payload(`{"iss":%q,"aud":"apbridge","sub":"alice","t":"\udc00","exp":%d}`), l.cfg(func(c *config.JWT) { c.Claims.Tenant = "/t" }), "wrong"},
		{"with half a surrogate pair in the namespaces", l.payload(`{"iss":%q,"aud":"apbridge","sub":"alice","n":["\udc00"],"exp":%d}`), l.cfg(func(c *config.JWT) { c.Claims.Namespaces = "n" }), "wrong"},
		{"with half a surrogate pair in an unused claim", l.payload(`{"iss":%q,"aud":"apbridge","sub":"alice","name":"\ud800","exp":%d}`), l.cfg(), ""},
		{"critical extensions", l.critical([]string{"x"}), l.cfg(), "wrong"},
		{"an empty list of critical extensions", l.critical([]string{}), l.cfg(), "wrong"},
		{"critical extensions that are null", l.critical(nil), l.cfg(), "wrong"},
		{"with a very long subject", l.token(says{"sub": strings.Repeat("a", 300)}), l.cfg(), "wrong"},
		{"1 MB", l.token(says{"more": strings.Repeat("x", 1<<20)}), l.cfg(), "wrong"},
		{"three empty parts", "..", l.cfg(), "wrong"},
		{"encrypted", "a.b.c.d.e", l.cfg(), "wrong"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			pass, err := l.gate(tt.cfg).Authenticate(withToken(tt.token), "192.0.2.1")
			if tt.code == "" {
				want := mapping.Principal{ID: "corp:alice", Tenant: "acme", Own: true, Namespaces: [][]string{}}
				if diff := cmp.Diff(want, pass.Principal); diff != "" || err != nil {
					t.Errorf("%v (-want +got):\n%s", err, diff)
				}
				return
			}
			if err == nil || Reason(err) != tt.code || mapping.Classify(err).Class != mapping.Unauthorized || pass.ID != "" {
				t.Fatalf("it is %v, %v", pass.Principal, err)
			}
			if len(tt.token) > 10 && strings.Contains(mapping.Classify(err).Message, tt.token[:10]) {
				t.Error("the refusal shows the token")
			}
		})
	}
}

// A key that is too short is not accepted, although the issuer publishes it.
func TestTokenSignedWithAShortKey(t *testing.T) {
	t.Parallel()
	l := newLogin(t)
	weak, err := rsa.GenerateKey(rand.Reader, 1024) //nolint:gosec // that is what is tried
	if err != nil {
		t.Skip("this Go version creates no key that short:", err)
	}
	l.shows(jwkOf("one", l.key.Public()), jwkOf("weak", weak.Public()))
	pass, err := l.gate(l.cfg()).Authenticate(withToken(l.signed(jose.RS256, weak, "weak", nil)), "192.0.2.1")
	if err == nil || Reason(err) != "wrong" || pass.ID != "" {
		t.Errorf("it is %v, %v", pass.Principal, err)
	}
}

// embedded returns a token that contains its own key.
func embedded(t *testing.T, l *login, key *ecdsa.PrivateKey) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, &jose.SignerOptions{EmbedJWK: true})
	if err != nil {
		t.Fatal(err)
	}
	text, err := jwt.Signed(signer).Claims(says{"iss": l.URL, "aud": "apbridge", "sub": "alice", "exp": time.Now().Add(time.Hour).Unix()}).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// changed returns a token for another caller with the original signature.
func changed(text string) string {
	part := strings.Split(text, ".")
	raw, _ := base64.RawURLEncoding.DecodeString(part[1])
	part[1] = base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(raw), "alice", "admin", 1)))
	return strings.Join(part, ".")
}

// TestClaimsDetermineThePrincipal checks that tenant, rights, agents and namespaces are those of the configured claims.
// A missing claim grants nothing.
func TestClaimsDetermineThePrincipal(t *testing.T) {
	t.Parallel()
	l := newLogin(t)
	all := func(c *config.JWT) {
		c.Claims = config.Claims{ID: "email", Tenant: "https://acme.example/tenant", Rights: "scope", Agents: "/app/agents", Namespaces: "spaces"}
	}
	for _, tt := range []struct {
		name   string
		cfg    config.JWT
		claims says
		want   mapping.Principal // the zero value if it is refused
	}{
		{"all of them", l.cfg(all), says{
			"email": "a.b@acme.example", "https://acme.example/tenant": "one", "scope": "openid read run store", "app": says{"agents": []string{"a", "b"}}, "spaces": []string{"users/{id}"},
		}, mapping.Principal{ID: "corp:a.b@acme.example", Tenant: "one", Rights: []string{"read", "run"}, Agents: []string{"a", "b"}, Own: true, Namespaces: [][]string{{"users", "corp:a%2Eb@acme%2Eexample"}}}},
		{"nothing but an identity", l.cfg(all), says{"email": "a", "https://acme.example/tenant": "one"},
			mapping.Principal{ID: "corp:a", Tenant: "one", Rights: []string{}, Agents: []string{}, Own: true, Namespaces: [][]string{}}},
		{"only standard claims", l.cfg(all, func(c *config.JWT) {
			c.Rights, c.Agents, c.Namespaces, c.Scope, c.Queue = []string{"read"}, []string{"a"}, []string{"shared"}, "tenant", 3
		}), says{"email": "a", "https://acme.example/tenant": "one"},
			mapping.Principal{ID: "corp:a", Tenant: "one", Rights: []string{"read"}, Agents: []string{"a"}, Queue: 3, Namespaces: [][]string{{"shared"}}}},
		{"claims of other types", l.cfg(all), says{"email": "a", "https://acme.example/tenant": "one", "scope": 7, "app": "x", "spaces": says{}},
			mapping.Principal{ID: "corp:a", Tenant: "one", Rights: []string{}, Agents: []string{}, Own: true, Namespaces: [][]string{}}},
		{"no tenant", l.cfg(all), says{"email": "a"}, mapping.Principal{}},
		{"an empty tenant", l.cfg(all), says{"email": "a", "https://acme.example/tenant": ""}, mapping.Principal{}},
		{"a tenant that is not a string", l.cfg(all), says{"email": "a", "https://acme.example/tenant": []string{"one"}}, mapping.Principal{}},
		{"no id", l.cfg(all), says{"https://acme.example/tenant": "one"}, mapping.Principal{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			pass, err := l.gate(tt.cfg).Authenticate(withToken(l.token(tt.claims)), "192.0.2.1")
			if (err != nil) != (tt.want.ID == "") {
				t.Error(err)
			}
			if diff := cmp.Diff(tt.want, pass.Principal); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
