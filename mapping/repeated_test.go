package mapping

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
)

func TestRepeatedName(t *testing.T) {
	t.Parallel()
	many := func(more string) string {
		var b strings.Builder
		for i := range 100 {
			b.WriteString(`"k` + strconv.Itoa(i) + `":{"a":1},`)
		}
		return `{` + b.String() + more + `}`
	}
	for text, second := range map[string]string{
		`{}`: "", `[]`: "", `5`: "", `{"a":1,"b":{"a":[{"a":1},{"a":1}]}}`: "",
		`{"a":1,"a":2}`:                 `"a":2`,
		`{"b":[{"a":1},{"a":1,"a":3}]}`: `"a":3`,
		`{"a":1,"\u0061":2}`:            `"\u0061"`,
		`{"é":1,"\u00e9":2}`:            `"\u00e9"`,
		many(`"x":1`):                   "",
		many(`"k7":1`):                  `"k7":1`,
		many(`"\u006b7":1`):             `"\u006b7":1`,
		many(`"x":{"b":1,"b":2}`):       `"b":2`,
	} {
		at, found := RepeatedName([]byte(text))
		if found != (second != "") || found && at != strings.LastIndex(text, second) {
			t.Errorf("RepeatedName(%.60s) = %d, %t, want that of %s", text, at, found, second)
		}
	}
}

// Folds of states with many keys, split or not, say the same as those that took them
// one by one.
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
		replayed, err := fold.Apply(Event{Kind: KindState, Data: diff})
		if err != nil || string(next.JSON()) != state || string(replayed.JSON()) != state {
			t.Fatalf("%.40s of %d bytes: %v; became %d bytes, replayed %d", state, len(state), err, len(next.JSON()), len(replayed.JSON()))
		}
		fresh := mustFold(t, state)
		if again, err := fresh.Apply(Event{Kind: KindState, Data: json.RawMessage(`{"merge":{"o":{"set":{"new":1}}}}`)}); strings.HasPrefix(state, `{"o"`) && (err != nil || !strings.Contains(string(again.JSON()), `"new":1`)) {
			t.Errorf("%.40s of %d bytes: a member more: %v", state, len(state), err)
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
