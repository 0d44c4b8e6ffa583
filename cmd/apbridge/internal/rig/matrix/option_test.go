package matrix

import (
	"maps"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/bridge"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
)

// A key of the configuration is honoured or refused by name. optionProofs has a
// proof for each; a key without one fails the test.
func TestEveryOptionIsHonouredOrRefused(t *testing.T) {
	t.Parallel()
	proofs := map[string]func(*testing.T){}
	for _, group := range []map[string]func(*testing.T){serverProofs, agentProofs, pullProofs, fileProofs, guardProofs, refusedOptions()} {
		maps.Copy(proofs, group)
	}
	keys := optionKeys("", reflect.TypeFor[config.Config]())
	if len(keys) < 50 {
		t.Fatalf("only %d keys were found", len(keys))
	}
	for _, key := range keys {
		proof := proofs[key]
		delete(proofs, key)
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			if proof == nil {
				t.Fatal("nothing shows that this key changes anything, or is refused")
			}
			proof(t)
		})
	}
	for key := range proofs {
		t.Errorf("%s is no key", key)
	}
}

// optionKeys are the leaves of a configuration: agents.*.url, auth.keys[].id.
func optionKeys(at string, typ reflect.Type) (keys []string) {
	for i := range typ.NumField() {
		f := typ.Field(i)
		key := strings.TrimPrefix(at+"."+f.Tag.Get("yaml"), ".")
		switch {
		case f.Type.Kind() == reflect.Struct:
			keys = append(keys, optionKeys(key, f.Type)...)
		case f.Type.Kind() == reflect.Map && f.Type.Elem().Kind() == reflect.Struct:
			keys = append(keys, optionKeys(key+".*", f.Type.Elem())...)
		case f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct:
			keys = append(keys, optionKeys(key+"[]", f.Type.Elem())...)
		default:
			keys = append(keys, key)
		}
	}
	return keys
}

// refusedOptions are keys that are there for later versions. Their value is
// one that a later version could mean.
func refusedOptions() map[string]func(*testing.T) {
	proofs := map[string]func(*testing.T){}
	for key, text := range map[string]string{
		"store.embeddings.url":   "store: {embeddings: {url: 'http://e'}}",
		"store.embeddings.model": "store: {embeddings: {model: m}}",
		"store.embeddings.key":   "store: {embeddings: {key: 'env:SECRET'}}",
		"auth.jwt.issuer":        "auth: {jwt: {issuer: 'https://id'}}",
		"auth.jwt.audience":      "auth: {jwt: {audience: bridge}}",
		"auth.jwt.jwks":          "auth: {jwt: {jwks: 'https://id/keys'}}",
		"auth.jwt.tenant_claim":  "auth: {jwt: {tenant_claim: org}}",
		"auth.jwt.methods":       "auth: {jwt: {methods: [RS256]}}",
	} {
		proofs[key] = func(t *testing.T) { wantRefused(t, key, text) }
	}
	return proofs
}

func wantRefused(t *testing.T, key, text string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "bridge.yaml")
	if !strings.Contains(text, "agents:") {
		text += "\nagents: {a: {url: 'http://a'}}"
	}
	rig.WriteFile(t, file, text)
	_, err := config.Load(config.Options{File: file, Environ: []string{"SECRET=0123456789abcdef"}, Dialects: bridge.DialectNames()})
	named := strings.ReplaceAll(strings.ReplaceAll(key, "*", "a"), "[]", "[0]")
	if err == nil {
		t.Fatalf("%s is accepted", text)
	}
	// The complaint may be about the group that the key belongs to.
	if group := named[:strings.LastIndex(named, ".")]; !strings.Contains(err.Error(), named+":") && !strings.Contains(err.Error(), group+":") {
		t.Errorf("the complaint does not name %s: %v", named, err)
	}
}
