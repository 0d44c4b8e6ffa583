package auth

import (
	"encoding/json"
	"testing"

	"github.com/apbridge/apbridge/config"
	"go.uber.org/zap"
)

// FuzzToken checks that only tokens that the issuer has signed are accepted.
func FuzzToken(f *testing.F) {
	for _, seed := range []string{"", "..", "a.b.c", "eyJhbGciOiJub25lIn0.eyJpc3MiOiJodHRwczovL2kifQ.", "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJodHRwczovL2kifQ.AAAA"} {
		f.Add(seed)
	}
	c, err := NewCallers(config.Auth{JWT: []config.JWT{{ID: "i", Issuer: "https://i", JWKS: "/nonexistent", Algorithms: []string{"ES256"}, Audience: []string{"a"}}}}, zap.NewNop())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if pass, err := c.present(t.Context(), text); err == nil || pass.ID != "" {
			t.Errorf("%q stands for %q", text, pass.ID)
		}
	})
}

// FuzzReadKeys checks that only public keys are accepted, up to their maximum number.
func FuzzReadKeys(f *testing.F) {
	for _, seed := range []string{"", "{}", `{"keys":[{"kty":"oct","k":"YQ"}]}`, `{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`, `{"keys":[null,1,{}]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		keys, err := readKeys(raw)
		if (err == nil) != (len(keys) > 0) || len(keys) > maxKeys {
			t.Fatalf("%d keys, %v", len(keys), err)
		}
		for _, k := range keys {
			if !signs(k) || !json.Valid(raw) {
				t.Errorf("%v is taken for a key", k)
			}
		}
	})
}

// FuzzClaims checks that no token without a name is a caller, and that no unknown right is granted.
func FuzzClaims(f *testing.F) {
	f.Add([]byte(`{"sub":"a","t":"x","r":"run nothing","a":{"b":["c"]}}`))
	f.Add([]byte(`{"sub":1,"t":[],"r":{},"a":null}`))
	i := &issuer{cfg: config.JWT{ID: "i", Claims: config.Claims{ID: "sub", Tenant: "t", Rights: "r", Agents: "/a/b", Namespaces: "n"}}}
	f.Fuzz(func(t *testing.T, raw []byte) {
		c := claims{}
		if json.Unmarshal(raw, &c) != nil {
			return
		}
		who, err := i.principal(c)
		if err == nil && (who.ID == "i:" || who.Tenant == "" || who.Rights == nil || who.Agents == nil || who.Namespaces == nil) {
			t.Errorf("%s stands for %v", raw, who)
		}
	})
}
