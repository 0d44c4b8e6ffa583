package mapping

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func FuzzValidJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,-0.5e+3,"\u00e9\n",true,null]}`, `[]`, ` 1 `, `"\ud800"`, `{"a":1,}`, `01`, `-`, `1.`, `1e`, "\"\x01\"", `tru`, `[1 2]`, `"\x"`, `{"a" 1}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, want := validJSON(b), json.Valid(b); got != want {
			t.Fatalf("validJSON(%q) = %v, encoding/json says %v", b, got, want)
		}
		if !json.Valid(b) {
			return
		}
		var want bytes.Buffer
		if err := json.Compact(&want, b); err != nil {
			t.Fatal(err)
		}
		if got := compactJSON(b); !bytes.Equal(got, want.Bytes()) {
			t.Errorf("compactJSON(%q) = %q, want %q", b, got, want.Bytes())
		}
		checkSplit(t, b)
	})
}

func checkSplit(t *testing.T, b []byte) {
	switch kindOf(b) {
	case '{':
		list, err := splitObject(b)
		if err != nil || !json.Valid(joinObject(list)) {
			t.Errorf("splitObject(%q) = %v, %v", b, list, err)
		}
	case '[':
		list, err := splitArray(b)
		if err != nil || !json.Valid(joinArray(list)) {
			t.Errorf("splitArray(%q) = %q, %v", b, list, err)
		}
	case '"':
		var want string
		got, ok := stringOf(b)
		if err := json.Unmarshal(b, &want); err != nil || !ok || got != want {
			t.Errorf("stringOf(%q) = %q, %v, want %q", b, got, ok, want)
		}
	}
}

func TestDepth(t *testing.T) {
	t.Parallel()
	if deep := strings.Repeat("[", 100_000); validJSON([]byte(deep + strings.Repeat("]", 100_000))) {
		t.Error("an array nested 100,000 deep counts as JSON")
	}
	if deep := strings.Repeat("[", 5_000); !validJSON([]byte(deep + strings.Repeat("]", 5_000))) {
		t.Error("an array nested 5,000 deep does not count as JSON")
	}
}

// Many members must not take time by their square.
func TestManyMembers(t *testing.T) {
	t.Parallel()
	var w objectWriter
	for i := range 100_000 {
		w.text(MessageID("many", string(rune('a'+i%26)))+string(rune(i)), "x")
	}
	big := w.done()
	f := mustFold(t, string(big))
	next, err := f.Reduce(big)
	if err != nil {
		t.Fatal(err)
	}
	if diff, _, err := next.DiffTo(big); diff != nil || err != nil {
		t.Errorf("diff %d bytes, %v", len(diff), err)
	}
	files := append(append([]byte(`{"files":`), big...), '}')
	if f, err = f.Reduce(files); err != nil {
		t.Fatal(err)
	}
	if _, err = f.Reduce(files); err != nil {
		t.Fatal(err)
	}
}

// A list of very many very small elements stays text: split, it would take
// many times its size.
func TestTinyElementsStayText(t *testing.T) {
	t.Parallel()
	tiny := "[1" + strings.Repeat(",1", 20_000) + "]"
	f := mustFold(t, `{"v":`+tiny+`}`)
	if v := f.value("v"); v.list != nil || string(v.raw) != tiny {
		t.Errorf("split into %d elements", len(v.list.elems))
	}
	diff, next, err := f.DiffTo(raw(`{"v":` + strings.Replace(tiny, "1", "2", 1) + `}`))
	if err != nil || len(diff) < len(tiny) || next.Size() != f.Size() {
		t.Errorf("diff %d bytes, %v", len(diff), err)
	}
}
