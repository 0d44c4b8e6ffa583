package rawjson_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/google/go-cmp/cmp"
)

// object returns {"k<from>": value, …, "k<to-1>": value}.
func object(from, to int, value string) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, `,"k%d":%s`, i, value)
	}
	return "{" + strings.TrimPrefix(b.String(), ",") + "}"
}

func TestMerge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ base, over, want string }{
		{``, ``, `{}`}, {`null`, ` { } `, `{}`}, {`{"a":1}`, ``, `{"a":1}`}, {``, `{"a":1}`, `{"a":1}`},
		{`{ "a" : 1 , "b": [1, 2] }`, `{"c":3}`, `{"a":1,"b":[1, 2],"c":3}`},
		{`{"a":1,"b":2}`, `{"b":3,"c":4,"d":5}`, `{"a":1,"b":3,"c":4,"d":5}`},
		{`{"a":1,"b":2,"c":3}`, `{"b":null}`, `{"a":1,"b":null,"c":3}`},
		{`{"\u0061":1,"b":2}`, `{"a":3}`, `{"\u0061":3,"b":2}`},
		{`{"a":1}`, `{"b":2,"\u0061":3}`, `{"a":3,"b":2}`},
		{`{"a":1}`, `{"a":2,"a":3}`, `{"a":3}`}, {`{"a":1,"a":2,"b":0}`, `{"a":3}`, `{"a":3,"b":0}`},
		{object(0, 100, "1"), object(50, 60, "2"), object(0, 50, "1")[:len(object(0, 50, "1"))-1] + "," + object(50, 60, "2")[1:len(object(50, 60, "2"))-1] + "," + object(60, 100, "1")[1:]},
		{object(5, 40, "1"), object(0, 90, "2"), object(5, 40, "2")[:len(object(5, 40, "2"))-1] + "," + object(0, 5, "2")[1:len(object(0, 5, "2"))-1] + "," + object(40, 90, "2")[1:]},
	} {
		got, err := rawjson.Merge(json.RawMessage(c.base), json.RawMessage(c.over), nil)
		if diff := cmp.Diff(c.want, string(got)); err != nil || diff != "" {
			t.Errorf("of %.60s and %.60s: %v (-want +got)\n%s", c.base, c.over, err, diff)
		}
	}
	for _, c := range [][2]string{{`{}`, `[]`}, {`5`, `{}`}, {`{"a":1`, `{}`}, {`{}`, `{"a":1}}`}} {
		if got, err := rawjson.Merge(json.RawMessage(c[0]), json.RawMessage(c[1]), nil); err == nil {
			t.Errorf("of %s and %s: %s", c[0], c[1], got)
		}
	}
}

// FuzzMerge checks that a merge has the same result as with a map, whichever object has the table.
func FuzzMerge(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":2}`), []byte(`{"b":3,"c":4,"d":5}`))
	f.Add([]byte(`{"a":{"x":1},"b":2,"c":3}`), []byte(`{"\u0061":{"x":2}}`))
	f.Add([]byte(`{"a":1,"\u0061":2}`), []byte(`{"é":1,"":null}`))
	f.Fuzz(func(t *testing.T, base, over []byte) {
		if rawjson.IsNull(base) || rawjson.IsNull(over) {
			return
		}
		var was, said map[string]json.RawMessage
		readable := json.Unmarshal(base, &was) == nil && json.Unmarshal(over, &said) == nil
		merged, err := rawjson.Merge(base, over, nil)
		if readable != (err == nil) {
			t.Fatalf("Merge(%q, %q) = %q, %v", base, over, merged, err)
		}
		if !readable || err != nil {
			return
		}
		for name, value := range said {
			was[name] = value
		}
		var got map[string]json.RawMessage
		if err := json.Unmarshal(merged, &got); err != nil || !rawjson.Equal(merged, mustEncode(t, was)) {
			t.Errorf("Merge(%q, %q) = %q, %v", base, over, merged, err)
		}
	})
}

func mustEncode(t *testing.T, v map[string]json.RawMessage) json.RawMessage {
	t.Helper()
	b, err := rawjson.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
