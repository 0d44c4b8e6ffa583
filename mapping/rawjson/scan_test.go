package rawjson_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

func FuzzValid(f *testing.F) {
	for _, s := range []string{`{"a":[1,-0.5e+3,"\u00e9\n",true,null]}`, `[]`, ` 1 `, `"\ud800"`, `{"a":1,}`, `01`, `-`, `1.`, `1e`, "\"\x01\"", `tru`, `[1 2]`, `"\x"`, `{"a" 1}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, want := rawjson.Valid(b), json.Valid(b); got != want {
			t.Fatalf("Valid(%q) = %v, encoding/json says %v", b, got, want)
		}
		if !json.Valid(b) {
			return
		}
		var want bytes.Buffer
		if err := json.Compact(&want, b); err != nil {
			t.Fatal(err)
		}
		if got := rawjson.Compact(b); !bytes.Equal(got, want.Bytes()) {
			t.Errorf("Compact(%q) = %q, want %q", b, got, want.Bytes())
		}
		checkSplit(t, b)
	})
}

func checkSplit(t *testing.T, b []byte) {
	switch rawjson.Kind(b) {
	case '{':
		list, err := rawjson.Members(b)
		if err != nil || !json.Valid(new(rawjson.Writer).Object(list).Bytes) {
			t.Errorf("Members(%q) = %v, %v", b, list, err)
		}
	case '[':
		list, err := rawjson.Elements(b)
		if err != nil || !json.Valid(rawjson.Array(list...)) {
			t.Errorf("Elements(%q) = %q, %v", b, list, err)
		}
	case '"':
		var want string
		got, ok := rawjson.Text(b)
		if err := json.Unmarshal(b, &want); err != nil || !ok || got != want {
			t.Errorf("Text(%q) = %q, %v, want %q", b, got, ok, want)
		}
	}
}

func TestDepth(t *testing.T) {
	t.Parallel()
	if deep := strings.Repeat("[", 100_000); rawjson.Valid([]byte(deep + strings.Repeat("]", 100_000))) {
		t.Error("an array nested 100,000 deep is accepted as JSON")
	}
	if deep := strings.Repeat("[", 5_000); !rawjson.Valid([]byte(deep + strings.Repeat("]", 5_000))) {
		t.Error("an array nested 5,000 deep is not accepted as JSON")
	}
}

// The scanner reads several bytes of a string at a time. Each byte has the same effect at every position.
func TestEveryByteOfAStringIsScanned(t *testing.T) {
	t.Parallel()
	for c := range 256 {
		for before := range 18 {
			for _, behind := range []int{0, 1, 7, 8, 20} {
				text := `"` + strings.Repeat("a", before) + string([]byte{byte(c)}) + strings.Repeat("\xc3", behind) + `"`
				want, ok := len(text), true
				switch {
				case c == '"':
					want = before + 2
				case c == '\\' && behind == 0: // it escapes the quote
					ok = false
				case c < ' ' || c == '\\':
					want, ok = before+1, false
				}
				if end, got := rawjson.Scan([]byte(text), 0); end != want || got != ok {
					t.Fatalf("%q: %d, %t, want %d, %t", text, end, got, want, ok)
				}
			}
		}
	}
}
