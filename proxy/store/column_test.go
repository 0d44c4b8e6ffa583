package store

import (
	"encoding/json"
	"testing"
)

func TestFillKeysAddsWhatIsMissing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ base, extra, want string }{
		{``, ``, `{}`},
		{`null`, `{"a":1}`, `{"a":1}`},
		{`{"a":1}`, `null`, `{"a":1}`},
		{`{}`, `{"b":1,"a\"":2,"b":3}`, `{"b":1,"a\"":2,"b":3}`},
		{`{}`, `{"a":"<b>"}`, `{"a":"<b>"}`},
		{`{ "a" : {"x":{}} }`, `{"a":2}`, `{"a":{"x":{}}}`},
		{`{"a":{"x":{}}} `, `{"b":2,"a":3}`, `{"a":{"x":{}},"b":2}`},
	} {
		got, err := fillKeys(json.RawMessage(c.base), json.RawMessage(c.extra))
		if err != nil || string(got) != c.want {
			t.Errorf("%s + %s = %s %v, want %s", c.base, c.extra, got, err, c.want)
		}
	}
	if _, err := fillKeys([]byte(`[1]`), []byte(`{"a":1}`)); err == nil {
		t.Error("fillKeys accepted a list")
	}
}
