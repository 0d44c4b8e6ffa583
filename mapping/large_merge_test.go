package mapping

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Large objects are merged by another way than small ones, to the same effect.
func TestLargeObjectsMergeAsSmallOnesDo(t *testing.T) {
	t.Parallel()
	large := func(more string) string {
		return `{"a": 1,"pad":"` + strings.Repeat("x", manyBytes) + `",` + more + `"b":null,"configurable":{"c":1,"n":null},"\u0064":4}`
	}
	for _, c := range [][2]string{
		{`{}`, large("")}, {`null`, large("")}, {large(""), `null`}, {large(""), `{}`},
		{`{"a":9,"d":8,"e":7,"configurable":{"c":2,"f":3}}`, large("")},
		{large(""), `{"a":9,"d":null,"e":7,"configurable":{"c":2,"f":null}}`},
		{large(`"pad2":"` + strings.Repeat("y", manyBytes) + `",`), large("")},
	} {
		for name, merge := range map[string]func(base, patch json.RawMessage) (json.RawMessage, error){"metadata": MergeMetadata, "config": MergeConfig} {
			got, err := merge(raw(c[0]), raw(c[1]))
			want, err2 := merge(raw(strings.ReplaceAll(c[0], strings.Repeat("x", manyBytes), "x")), raw(strings.ReplaceAll(c[1], strings.Repeat("x", manyBytes), "x")))
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			short := strings.ReplaceAll(string(got), strings.Repeat("x", manyBytes), "x")
			alike := func(s string) string { return strings.ReplaceAll(string(compactJSON(raw(s))), `\u0064`, "d") } // a name may stay as it was spelled
			if diff := cmp.Diff(alike(string(want)), alike(short)); diff != "" {
				t.Errorf("%s of %.60s and %.60s (-small +large)\n%s", name, c[0], c[1], diff)
			}
		}
	}
}

// The options of a run read back as they were, and keep the letters that encoding/json escapes.
func TestOptionsOfARunReadBack(t *testing.T) {
	t.Parallel()
	want := RunOptions{Resume: raw(`"<&>"`), Input: raw(`{"a": "<"}`), Config: raw(`{}`), MaxSteps: 3, Asked: []Interrupt{{ID: "q", Value: raw(`1`)}}}
	b, err := want.JSON()
	if err != nil || !strings.Contains(string(b), `{"a": "<"}`) {
		t.Fatalf("%s, %v", b, err)
	}
	var got RunOptions
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("(-want +got)\n" + diff)
	}
}
