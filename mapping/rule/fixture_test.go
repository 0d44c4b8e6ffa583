package rule

import (
	"encoding/json"
	"testing"

	"github.com/apbridge/apbridge/mapping/state"
)

func asRaw(s string) json.RawMessage { return json.RawMessage(s) }

func foldOf(t testing.TB, s string) *state.Fold {
	t.Helper()
	f, err := state.NewFold(asRaw(s))
	if err != nil {
		t.Fatalf("NewFold(%s): %v", s, err)
	}
	return f
}
