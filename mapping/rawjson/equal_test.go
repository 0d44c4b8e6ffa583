package rawjson_test

import (
	"encoding/json"
	"testing"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

func TestContains(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		doc, want string
		ok        bool
	}{
		{`{"a":1,"b":{"c":[1,2],"d":2}}`, `{"b":{"c":[1,2]}}`, true}, {`{"a":1}`, ``, true}, {`{"a":1}`, `{}`, true}, {``, `{}`, false},
		{`{"a":1}`, `{"a":1.0}`, true}, {`{"a":1e2}`, `{"a":100}`, true}, {`{"a":-0}`, `{"a":0}`, true},
		{`{"a":9007199254740993}`, `{"a":9007199254740992}`, false}, {`{"a":"\u0061"}`, `{"a":"a"}`, true},
		{`{"a":[1,2]}`, `{"a":[1]}`, true}, {`{"a":[1,2]}`, `{"a":[2,1,1]}`, true}, {`{"a":[1]}`, `{"a":[1,2]}`, false}, {`{"a":[1]}`, `{"a":[]}`, true},
		{`{"a":[[1,2],3]}`, `{"a":[[2]]}`, true}, {`{"a":[[1,2],3]}`, `{"a":[2]}`, false}, {`{"a":[1]}`, `{"a":1}`, false}, {`[1,2]`, `[2`, false}, {`{"a":[{"x":1,"y":2}]}`, `{"a":[{"y":2,"x":1}]}`, true}, {`{"a":[{"x":1,"y":2}]}`, `{"a":[{"x":1}]}`, true},
		{`{"a":null}`, `{"a":null}`, true}, {`{}`, `{"a":null}`, false}, {`{"a":{}}`, `{"a":null}`, false},
		{`{"a":true}`, `{"a":false}`, false}, {`{"a":"1"}`, `{"a":1}`, false}, {`{"a":1}`, `{"a":{"b":1}}`, false},
		{`{"a":1}`, `{"a":}`, false}, {`{"a":}`, `{"a":1}`, false}, {`{"a":1e999999999}`, `{"a":1e999999998}`, true}, {`5`, `5`, true},
	} {
		if got := rawjson.Contains(json.RawMessage(c.doc), json.RawMessage(c.want)); got != c.ok {
			t.Errorf("Contains(%s, %s) = %v", c.doc, c.want, got)
		}
	}
}

func TestCompareNumbers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"1", "2", -1}, {"10", "9", 1}, {"-1", "1", -1}, {"1", "-1", 1}, {"-10", "-9", -1}, {"-0", "0", 0}, {"0", "-1", 1},
		{"9007199254740993", "9007199254740992", 1}, {"1.5", "1", 1}, {"1e1", "10", 0}, {"-1.5", "-1", -1},
	} {
		if got := rawjson.CompareNumbers(c.a, c.b); (got > 0) != (c.want > 0) || (got < 0) != (c.want < 0) {
			t.Errorf("CompareNumbers(%s, %s) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
