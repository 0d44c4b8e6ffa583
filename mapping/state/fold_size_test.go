package state

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// Many members must not take quadratic time.
func TestManyMembers(t *testing.T) {
	t.Parallel()
	var w rawjson.Writer
	w.Open('{')
	for i := range 100_000 {
		w.Name(mapping.MessageID("many", string(rune('a'+i%26))) + string(rune(i))).Text("x")
	}
	big := w.Close('}').Bytes
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

// A list of very many tiny elements stays text, because it would need many times its size if split.
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

// Folds of states with many keys, split or not, equal those built key by key.
func TestStatesOfManyMembers(t *testing.T) {
	t.Parallel()
	object := func(n int, value string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(`,"k` + strconv.Itoa(i) + `":` + value)
		}
		return `{` + b.String()[1:] + `}`
	}
	fold := mustFold(t, `{}`)
	for _, state := range []string{
		`{"o":` + object(20, "1") + `}`, `{"o":` + object(5000, "1") + `}`, `{"o":` + object(5001, "1") + `}`,
		`{"o":` + object(5000, `"`+strings.Repeat("x", 60)+`"`) + `}`, `{"o":` + object(5000, "2") + `}`,
		object(5000, "1"), object(5001, "2"), object(30, "2"), `{}`,
	} {
		diff, next, err := fold.DiffTo(json.RawMessage(state))
		if err != nil {
			t.Fatal(err)
		}
		replayed, err := fold.Apply(&mapping.Event{Kind: mapping.KindState, Data: diff})
		if err != nil || string(next.JSON()) != state || string(replayed.JSON()) != state {
			t.Fatalf("%.40s of %d bytes: %v; became %d bytes, replayed %d", state, len(state), err, len(next.JSON()), len(replayed.JSON()))
		}
		fresh := mustFold(t, state)
		if again, err := fresh.Apply(&mapping.Event{Kind: mapping.KindState, Data: json.RawMessage(`{"merge":{"o":{"set":{"new":1}}}}`)}); strings.HasPrefix(state, `{"o"`) && (err != nil || !strings.Contains(string(again.JSON()), `"new":1`)) {
			t.Errorf("%.40s of %d bytes: with one more member: %v", state, len(state), err)
		}
		var pieces strings.Builder
		for p := range fresh.Pieces() {
			pieces.Write(p)
		}
		if pieces.String() != state {
			t.Errorf("%.40s of %d bytes: in pieces %d bytes", state, len(state), pieces.Len())
		}
		fold = next
	}
	var files strings.Builder
	for i := range 5000 {
		files.WriteString(`,"/` + strconv.Itoa(i) + `":"x"`)
	}
	input := json.RawMessage(`{"files":{` + files.String()[1:] + `}}`)
	after, err := mustFold(t, string(input)).Reduce(json.RawMessage(`{"files":{"/7":null,"/new":"y"}}`))
	if err != nil || strings.Contains(string(after.JSON()), `"/7":`) || !strings.Contains(string(after.JSON()), `"/8":"x"`) || !strings.Contains(string(after.JSON()), `"/new":"y"`) {
		t.Errorf("files of many: %v, %.80s", err, after.JSON())
	}
}
