package inspect

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/google/go-cmp/cmp"
)

func TestDifferences(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		before, after string
		want          []string
	}{
		{`{}`, `{}`, nil},
		{`{"a":1,"b":2}`, `{"b":2.0,"a":1}`, nil},
		{`{"a":1}`, `{"a":2,"b":{"c":null}}`, []string{"changed a 1 2", `added b  {"c":null}`}},
		{`{"a":1}`, `{}`, []string{"removed a 1 "}},
		{`{"a":{"b":{"c":1}}}`, `{"a":{"b":{"c":"1"}}}`, []string{`changed a.b.c 1 "1"`}},
		{`{"l":[1,2]}`, `{"l":[1,3,4]}`, []string{"changed l.1 2 3", "added l.2  4"}},
		{`[{"id":"x","v":1},{"id":"y"}]`, `[{"id":"n"},{"id":"x","v":2},{"id":"y"}]`, []string{`added n  {"id":"n"}`, "changed x.v 1 2"}},
		{`[{"id":"x"},{"id":"y"}]`, `[{"id":"y"},{"id":"x"}]`, []string{`changed  [{"id":"x"},{"id":"y"}] [{"id":"y"},{"id":"x"}]`}},
		{`[{"id":"x"},{"id":"x"}]`, `[{"id":"x"}]`, []string{`removed 1 {"id":"x"} `}},
		{`1`, `[1]`, []string{"changed  1 [1]"}},
		{``, `{"a":1}`, []string{`changed   {"a":1}`}},
	} {
		list, more := difference(json.RawMessage(tt.before), json.RawMessage(tt.after), 10)
		var got []string
		for _, c := range list {
			got = append(got, fmt.Sprintf("%s %s %s %s", c.kind, c.path, c.before, c.after))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || more {
			t.Errorf("%s to %s, more %v (-want +got):\n%s", tt.before, tt.after, more, diff)
		}
	}
}

func TestDifferencesAreBounded(t *testing.T) {
	t.Parallel()
	list, more := difference(json.RawMessage(`{}`), json.RawMessage(`{"a":1,"b":2,"c":3}`), 2)
	if len(list) != 2 || !more {
		t.Errorf("%d, more %v", len(list), more)
	}
	deep := func(end string) json.RawMessage {
		return json.RawMessage(strings.Repeat(`{"a":`, 100) + end + strings.Repeat("}", 100))
	}
	if list, _ := difference(deep("1"), deep("2"), 2); len(list) != 1 || strings.Count(list[0].path, "a") != maxDepth {
		t.Errorf("%+v", list)
	}
}

// Two values have no difference if and only if they are equal.
func FuzzDifference(f *testing.F) {
	f.Add(`{"a":[{"id":"x"}]}`, `{"a":[{"id":"y"},{}]}`)
	f.Add(`[1,2]`, `[2,1]`)
	f.Fuzz(func(t *testing.T, before, after string) {
		a, b := json.RawMessage(before), json.RawMessage(after)
		if !rawjson.Valid(a) || !rawjson.Valid(b) {
			return
		}
		if _, repeated := rawjson.RepeatedName(a); repeated {
			return
		}
		if _, repeated := rawjson.RepeatedName(b); repeated {
			return
		}
		if list, _ := difference(a, b, 100); rawjson.Equal(a, b) != (len(list) == 0) {
			t.Errorf("%s to %s: %+v", before, after, list)
		}
	})
}
