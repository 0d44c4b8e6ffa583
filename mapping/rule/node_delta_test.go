package rule

import (
	"encoding/json"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
)

func TestNodeDeltas(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		node, data string
		want       []NodeDelta
		files      string
	}{
		{"a", `{"files":{"/x":1}}`, []NodeDelta{{"a", asRaw(`{"files":{"/x":1}}`)}}, `{"/x":1}`},
		{"a", `{"files":["x"]}`, []NodeDelta{{"a", asRaw(`{"files":["x"]}`)}}, ``},
		{"a", `null`, []NodeDelta{{"a", asRaw(`null`)}}, ``},
		{"a+b", `{"a":{"files":{"/x":1,"/y":1}},"b":{"files":{"/x":null}}}`, []NodeDelta{{"a", asRaw(`{"files":{"/x":1,"/y":1}}`)}, {"b", asRaw(`{"files":{"/x":null}}`)}}, `{"/x":null,"/y":1}`},
		{"a+b", `{"a":null,"b":{"k":1}}`, []NodeDelta{{"a", asRaw(`null`)}, {"b", asRaw(`{"k":1}`)}}, ``},
		{"a+b", `{"a+b":{"files":{"/x":1}}}`, []NodeDelta{{"a+b", asRaw(`{"files":{"/x":1}}`)}}, `{"/x":1}`},
		{"a+b", `{"a":1}`, []NodeDelta{{"a+b", asRaw(`{"a":1}`)}}, ``},
		{"a+b", `[1]`, []NodeDelta{{"a+b", asRaw(`[1]`)}}, ``},
	} {
		if diff := cmp.Diff(c.want, NodeDeltas(c.node, asRaw(c.data))); diff != "" {
			t.Errorf("NodeDeltas(%s, %s): %s", c.node, c.data, diff)
		}
		if got := string(FilesOfDelta(asRaw(c.data), c.node)); got != c.files {
			t.Errorf("FilesOfDelta(%s, %s) = %s, want %s", c.data, c.node, got, c.files)
		}
	}
	if a, b := ArtifactID(someRun, "a"), ArtifactID(someRun, "b"); a == b || !mapping.IsUUID(a) || a != ArtifactID(someRun, "a") {
		t.Errorf("artifact ids %s, %s", a, b)
	}
}

func TestFilesOfDeltaUnderAnEscapedName(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		`{"files":{"/a":"x"}}`:      `{"/a":"x"}`,
		`{"\u0066iles":{"/a":"x"}}`: `{"/a":"x"}`,
		`{"messages":["files"]}`:    ``,
		`{"messages":["\u0041"]}`:   ``,
	} {
		if got := FilesOfDelta(json.RawMessage(data), "node"); string(got) != want {
			t.Errorf("%s: %s, want %s", data, got, want)
		}
	}
}
