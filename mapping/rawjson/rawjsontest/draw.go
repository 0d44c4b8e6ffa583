// Package rawjsontest draws JSON for property tests. Only tests import it.
package rawjsontest

import (
	"encoding/json"
	"fmt"

	"github.com/apbridge/apbridge/mapping/rawjson"
	"pgregory.net/rapid"
)

// Object draws an object of few members. The generated names must be JSON strings. depth bounds the nesting of its
// values.
func Object(t *rapid.T, name *rapid.Generator[string], depth int) json.RawMessage {
	w := new(rawjson.Writer).Open('{')
	for range rapid.IntRange(0, 5).Draw(t, "members") {
		w.Spliced(json.RawMessage(name.Draw(t, "name"))).Raw(Value(t, name, depth), "")
	}
	return w.Close('}').Bytes
}

// Value draws a value of any kind, including null.
func Value(t *rapid.T, name *rapid.Generator[string], depth int) json.RawMessage {
	kinds := 6
	if depth == 0 {
		kinds = 4
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return json.RawMessage("null")
	case 1:
		return json.RawMessage(rapid.SampledFrom([]string{"0", "1", "12", "1.0", "-1e5"}).Draw(t, "number"))
	case 2:
		return rawjson.Quote(rapid.StringMatching(`[ab,\]}"]{0,4}`).Draw(t, "text"))
	case 3:
		return json.RawMessage(fmt.Sprintf(`{"id":"%d","v":%d}`, rapid.IntRange(0, 4).Draw(t, "id"), rapid.IntRange(0, 1).Draw(t, "v")))
	case 4:
		var list []json.RawMessage
		for range rapid.IntRange(0, 5).Draw(t, "elements") {
			list = append(list, Value(t, name, depth-1))
		}
		return rawjson.Array(list...)
	default:
		return Object(t, name, depth-1)
	}
}
