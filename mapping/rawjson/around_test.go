package rawjson

import (
	"encoding/json"
	"strings"
	"testing"
)

// Pieces have the same text as copies.
func TestPiecesEqualCopies(t *testing.T) {
	t.Parallel()
	long := `{"a":"` + strings.Repeat("x", 32<<10) + `","n":1}`
	for _, b := range []string{"", "null", "{}", `{"k":0}`, `{"a":1,"k":{"b":2},"c":3}`, long} {
		inner := new(Pieces).Literal(`{"n":`).Literal("2}")
		want, _ := WithMember(json.RawMessage(b), "k", inner.Join())
		got, err := PiecesAround(json.RawMessage(b), "k", *inner)
		if err != nil || string(got.Join()) != string(want) {
			t.Errorf("%.40q around %q: %.60q, %v", b, inner.Join(), got.Join(), err)
		}
	}
	if _, err := PiecesAround(json.RawMessage("[]"), "k", Pieces{}); err == nil {
		t.Error("a list is accepted as an object")
	}
}
