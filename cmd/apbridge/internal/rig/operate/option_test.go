package operate

import (
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/config"
)

// TestEveryOptionIsHonoured checks that every configuration key has an effect. A key without a proof fails the test.
func TestEveryOptionIsHonoured(t *testing.T) {
	t.Parallel()
	proofs := map[string]func(*testing.T){}
	for _, group := range []map[string]func(*testing.T){serverProofs, agentProofs, pullProofs, fileProofs, guardProofs, accessProofs, storeProofs, memoryProofs, allowanceProofs()} {
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
				t.Fatal("no test proves that this key has an effect")
			}
			proof(t)
		})
	}
	for key := range proofs {
		t.Errorf("%s has a proof but is not a key", key)
	}
}

// optionKeys returns the leaves of a configuration type, such as agents.*.url and auth.keys[].id.
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
