package column

import (
	"encoding/json"
	"testing"
	"time"
)

func TestFillKeysAddsWhatIsMissing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ base, extra, want string }{
		{``, ``, `{}`},
		{`null`, `{"a":1}`, `{"a":1}`},
		{`{"a":1}`, `null`, `{"a":1}`},
		{`{}`, `{"b":1,"a\"":2,"b":3}`, `{"b":1,"a\"":2,"b":3}`},
		{`{}`, `{"a":"<b>"}`, `{"a":"<b>"}`},
		{`{ "a" : {"x":{}} }`, `{"a":2}`, `{ "a" : {"x":{}} }`},
		{`{"a":{"x":{}}} `, `{"b":2,"a":3}`, `{"a":{"x":{}},"b":2}`},
	} {
		got, err := FillKeys(json.RawMessage(c.base), json.RawMessage(c.extra))
		if err != nil || string(got) != c.want {
			t.Errorf("%s + %s = %s %v, want %s", c.base, c.extra, got, err, c.want)
		}
	}
	if _, err := FillKeys([]byte(`[1]`), []byte(`{"a":1}`)); err == nil {
		t.Error("a list was filled")
	}
}

func TestTimesComeBack(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 678_000, time.UTC)
	for _, want := range []time.Time{{}, at} {
		if got := TimeOf(Micros(want)); !got.Equal(want) {
			t.Errorf("%s came back as %s", want, got)
		}
	}
}
