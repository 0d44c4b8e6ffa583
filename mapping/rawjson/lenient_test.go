package rawjson_test

import (
	"encoding/json"
	"testing"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

// Lookups accept values of any kind.
func TestLookupsInAnyValue(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]struct {
		elements int
		text     string
		member   string
	}{
		``:                           {},
		`null`:                       {},
		`7`:                          {},
		`"`:                          {},
		` "a\n\"b" `:                 {text: "a\n\"b"},
		` [1, "x", []] `:             {elements: 3},
		`[1, 2`:                      {},
		`{"name":"n"}`:               {member: "n"},
		`{"name":null}`:              {},
		`{"name":"a","name": "b" } `: {member: "b"},
	} {
		b := json.RawMessage(value)
		if got := len(rawjson.ElementsOf(b)); got != want.elements {
			t.Errorf("%s has %d elements", value, got)
		}
		if got := rawjson.TextOf(b); got != want.text {
			t.Errorf("%s is the text %q", value, got)
		}
		if got := rawjson.GetText(b, "name"); got != want.member {
			t.Errorf("%s has the member %q", value, got)
		}
	}
}
