package rule

import (
	"encoding/json"
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
		if diff := cmp.Diff(want, ItemTexts(json.RawMessage(value), json.RawMessage(index))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", index, diff)
		}
	}
}
