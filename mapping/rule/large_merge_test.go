package rule

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/google/go-cmp/cmp"
)

// large is the size from which the members of an object are counted before it is read.
const large = 16 << 10

// Large objects are merged like small ones.
func TestLargeObjectsMergeLikeSmallOnes(t *testing.T) {
	t.Parallel()
	padded := func(more string) string {
		return `{"a": 1,"pad":"` + strings.Repeat("x", large) + `",` + more + `"b":null,"configurable":{"c":1,"n":null},"\u0064":4}`
	}
	for _, c := range [][2]string{
		{`{}`, padded("")}, {`null`, padded("")}, {padded(""), `null`}, {padded(""), `{}`},
		{`{"a":9,"d":8,"e":7,"configurable":{"c":2,"f":3}}`, padded("")},
		{padded(""), `{"a":9,"d":null,"e":7,"configurable":{"c":2,"f":null}}`},
		{padded(`"pad2":"` + strings.Repeat("y", large) + `",`), padded("")},
	} {
		for name, merge := range map[string]func(base, patch json.RawMessage) (json.RawMessage, error){"metadata": MergeMetadata, "config": MergeConfig} {
			got, err := merge(asRaw(c[0]), asRaw(c[1]))
			want, err2 := merge(asRaw(strings.ReplaceAll(c[0], strings.Repeat("x", large), "x")), asRaw(strings.ReplaceAll(c[1], strings.Repeat("x", large), "x")))
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			short := strings.ReplaceAll(string(got), strings.Repeat("x", large), "x")
			alike := func(s string) string { return strings.ReplaceAll(string(rawjson.Compact(asRaw(s))), `\u0064`, "d") } // a name may keep its spelling
			if diff := cmp.Diff(alike(string(want)), alike(short)); diff != "" {
				t.Errorf("%s of %.60s and %.60s (-small +large)\n%s", name, c[0], c[1], diff)
			}
		}
	}
}

// The options of a run survive a round trip, and keep characters that encoding/json escapes.
func TestRunOptionsRoundTrip(t *testing.T) {
	t.Parallel()
	want := mapping.RunOptions{Resume: asRaw(`"<&>"`), Input: asRaw(`{"a": "<"}`), Config: asRaw(`{}`), MaxSteps: 3, Asked: []mapping.Interrupt{{ID: "q", Value: asRaw(`1`)}}}
	b, err := want.JSON()
	if err != nil || !strings.Contains(string(b), `{"a": "<"}`) {
		t.Fatalf("%s, %v", b, err)
	}
	var got mapping.RunOptions
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("(-want +got)\n" + diff)
	}
}
