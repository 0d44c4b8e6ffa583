package mapping

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

// What is put together of pieces is what is put together by copying.
func TestPiecesAreWhatCopiesAre(t *testing.T) {
	t.Parallel()
	long := `{"a":"` + strings.Repeat("x", 2*manyBytes) + `","n":1}`
	for _, b := range []string{"", "null", "{}", `{"k":0}`, `{"a":1,"k":{"b":2},"c":3}`, long} {
		inner := new(rawjson.Pieces).Literal(`{"n":`).Literal("2}")
		want, _ := WithMember(json.RawMessage(b), "k", inner.Join())
		got, err := PiecesAround(json.RawMessage(b), "k", *inner)
		if err != nil || string(got.Join()) != string(want) {
			t.Errorf("%.40q around %q: %.60q, %v", b, inner.Join(), got.Join(), err)
		}
		want, _ = MergeMetadata(json.RawMessage(b), inner.Join())
		got, err = MergePieces(json.RawMessage(b), inner.Join())
		if err != nil || string(got.Join()) != string(want) {
			t.Errorf("%.40q with %q: %.60q, %v", b, inner.Join(), got.Join(), err)
		}
	}
	if _, err := PiecesAround(json.RawMessage("[]"), "k", rawjson.Pieces{}); err == nil {
		t.Error("a list is taken for an object")
	}
	if _, err := MergePieces(json.RawMessage("[]"), json.RawMessage(`{"n":2}`)); err == nil {
		t.Error("a list is taken for an object")
	}
}
