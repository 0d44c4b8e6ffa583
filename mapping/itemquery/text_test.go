package itemquery

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestItemTexts(t *testing.T) {
	t.Parallel()
	const value = `{"a":"\u00fcber","b":[{"c":"x","d":7},{"c":"y"}],"e":null,"f":true}`
	for index, want := range map[string][]string{
		"":                 {"über", "x", "7", "y"},
		"null":             {"über", "x", "7", "y"},
		`["$"]`:            {"über", "x", "7", "y"},
		" false":           nil,
		`[]`:               nil,
		`["a"]`:            {"über"},
		`["b[*].c"]`:       {"x", "y"},
		`["b[0]"]`:         {"x", "7"},
		`["b[-1].c","a"]`:  {"y", "über"},
		`["b[9].c","a.z"]`: nil,
		`["nope","e"]`:     nil,
	} {
		if diff := cmp.Diff(want, slices.Collect(ItemTexts(json.RawMessage(value), json.RawMessage(index)))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", index, diff)
		}
	}
}

// Iteration stops when the caller has enough texts.
func TestItemTextsStop(t *testing.T) {
	t.Parallel()
	for _, index := range []string{"", `["a[*].b","a"]`} {
		got := 0
		for range ItemTexts(json.RawMessage(`{"a":[{"b":"1"},{"b":"2"},{"b":["3","4"]}]}`), json.RawMessage(index)) {
			if got++; got == 2 {
				break
			}
		}
		if got != 2 {
			t.Errorf("%s: %d texts", index, got)
		}
	}
}
