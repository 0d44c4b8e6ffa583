package auth

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
)

const alicesKey, bobsKey = "alice-0123456789abcdef", "bob-0123456789abcdef"

func keys(t *testing.T) *Callers {
	t.Helper()
	sum := sha256.Sum256([]byte(bobsKey))
	return callers(t, config.Auth{Keys: []config.Key{
		{ID: "alice", Key: alicesKey, Tenant: "acme"},
		{ID: "bob", Key: config.Secret("sha256:" + hex.EncodeToString(sum[:])), Agents: []string{"legacy"}, Rights: []string{"read"}},
	}})
}

func callers(t *testing.T, cfg config.Auth) *Callers {
	t.Helper()
	c, err := NewCallers(cfg, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAuthenticate(t *testing.T) {
	t.Parallel()
	alice := mapping.Principal{ID: "alice", Tenant: "acme"}
	bob := mapping.Principal{ID: "bob", Agents: []string{"legacy"}, Rights: []string{"read"}}
	k := keys(t)
	for _, tt := range []struct {
		name   string
		header http.Header
		want   mapping.Principal
		fails  bool
	}{
		{"x-api-key", http.Header{"X-Api-Key": {alicesKey}}, alice, false},
		{"bearer", http.Header{"Authorization": {"Bearer " + bobsKey}}, bob, false},
		{"bearer in another case", http.Header{"Authorization": {"bearer  " + bobsKey}}, bob, false},
		{"x-api-key comes first", http.Header{"X-Api-Key": {alicesKey}, "Authorization": {"Bearer " + bobsKey}}, alice, false},
		{"wrong x-api-key is not saved by the other", http.Header{"X-Api-Key": {"x"}, "Authorization": {"Bearer " + bobsKey}}, mapping.Principal{}, true},
		{"empty x-api-key is none", http.Header{"X-Api-Key": {""}, "Authorization": {"Bearer " + bobsKey}}, bob, false},
		{"nothing", http.Header{}, mapping.Principal{}, true},
		{"wrong", http.Header{"X-Api-Key": {alicesKey + "x"}}, mapping.Principal{}, true},
		{"prefix", http.Header{"X-Api-Key": {alicesKey[:8]}}, mapping.Principal{}, true},
		{"the digest is not the key", http.Header{"X-Api-Key": {"sha256:" + hex.EncodeToString(make([]byte, 32))}}, mapping.Principal{}, true},
		{"basic", http.Header{"Authorization": {"Basic " + bobsKey}}, mapping.Principal{}, true},
		{"E7 twice", http.Header{"Authorization": {"Bearer " + bobsKey, "Bearer x"}}, mapping.Principal{}, true},
		{"a page's WebSocket", http.Header{"Sec-Websocket-Protocol": {"apbridge, " + asProtocol(alicesKey)}}, alice, false},
		{"a page's WebSocket, a line each", http.Header{"Sec-Websocket-Protocol": {"apbridge", asProtocol(alicesKey)}}, alice, false},
		{"a header comes before a subprotocol", http.Header{"Authorization": {"Bearer " + bobsKey}, "Sec-Websocket-Protocol": {asProtocol(alicesKey)}}, bob, false},
		{"subprotocols without a key", http.Header{"Sec-Websocket-Protocol": {"apbridge"}}, mapping.Principal{}, true},
		{"a wrong key as a subprotocol", http.Header{"Sec-Websocket-Protocol": {asProtocol("x")}}, mapping.Principal{}, true},
		{"a key as a subprotocol that is not encoded", http.Header{"Sec-Websocket-Protocol": {"x-api-key." + alicesKey}}, mapping.Principal{}, true},
		{"no key as a subprotocol", http.Header{"Sec-Websocket-Protocol": {"x-api-key."}}, mapping.Principal{}, true},
		{"E7 two subprotocols", http.Header{"Sec-Websocket-Protocol": {asProtocol(alicesKey) + "," + asProtocol(bobsKey)}}, mapping.Principal{}, true},
		{"E7 underscores", http.Header{"X_api_key": {alicesKey}}, mapping.Principal{}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest("GET", "/threads", nil)
			r.Header = tt.header
			g := gate(t, k)
			for range 2 { // the second time from the cache
				got, err := g.Authenticate(r, "192.0.2.1")
				if (err != nil) != tt.fails {
					t.Errorf("error %v", err)
				}
				if err != nil && mapping.Classify(err).Class != mapping.Unauthorized {
					t.Errorf("class of %v", err)
				}
				if diff := cmp.Diff(tt.want, got.Principal); diff != "" {
					t.Errorf("principal (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func asProtocol(key string) string {
	return "x-api-key." + base64.RawURLEncoding.EncodeToString([]byte(key))
}

// TestKeysAreStripped checks that no handler gets the key, however it was sent (E4).
func TestKeysAreStripped(t *testing.T) {
	t.Parallel()
	h := http.Header{}
	h.Set("X-Api-Key", alicesKey)
	h.Set("Authorization", "Bearer "+alicesKey)
	h.Add("Sec-WebSocket-Protocol", "apbridge, "+asProtocol(alicesKey))
	h.Add("Sec-WebSocket-Protocol", "chat")
	Strip(h)
	if diff := cmp.Diff(http.Header{"Sec-Websocket-Protocol": {"apbridge, chat"}}, h); diff != "" {
		t.Error(diff)
	}
	h.Set("Sec-WebSocket-Protocol", asProtocol(alicesKey))
	if Strip(h); len(h) > 0 {
		t.Error(h)
	}
}

func TestWithoutKeysEveryCallerIsAllowed(t *testing.T) {
	t.Parallel()
	k := callers(t, config.Auth{})
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("X-Api-Key", "anything")
	if who, err := gate(t, k).Authenticate(r, "192.0.2.1"); err != nil || !cmp.Equal(who.Principal, mapping.Principal{}) {
		t.Errorf("got %v, %v", who, err)
	}
}

func TestBadDigestIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := NewKeys([]config.Key{{ID: "a", Key: "sha256:zz"}}); err == nil {
		t.Error("a digest that is none was taken")
	}
}
