package itemquery

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
)

const pathValue = `{"a":{"z":1,"b":"deep"},"list":[{"t":"one","n":1},{"t":"two"},"bare"],"nil":null,"yes":true,"blank":" ","é":"\u00fc","k":"v"}`

// TestVectorTexts compares paths with LangGraph's get_text_at_path.
func TestVectorTexts(t *testing.T) {
	t.Parallel()
	whole := `{"a":{"b":"deep","z":1},"blank":" ","k":"v","list":[{"n":1,"t":"one"},{"t":"two"},"bare"],"nil":null,"yes":true,"é":"ü"}`
	for index, want := range map[string][]string{
		"":                         {whole},
		"null":                     {whole},
		"false":                    nil,
		`[]`:                       nil,
		`["$"]`:                    {whole},
		`[""]`:                     {whole},
		`["$.k"]`:                  {"v"},
		`["a"]`:                    {`{"b":"deep","z":1}`},
		`["a.b","a.z","yes"]`:      {"deep", "1", "true"},
		`["list[0]"]`:              {`{"n":1,"t":"one"}`},
		`["list[-1]"]`:             {"bare"},
		`["list[*].t"]`:            {"one", "two"},
		`["list.*.t"]`:             {"one", "two"},
		`["list[9]","list[-9]"]`:   nil,
		`["a.*"]`:                  {"1", "deep"},
		`["{k, a.b ,k,none}"]`:     {"v", "deep"},
		`["a.{b,z}"]`:              {"deep", "1"},
		`["list[*].{t,n}"]`:        {"one", "1", "two"},
		`["nil","blank","none.x"]`: nil,
		`["é"]`:                    {"ü"},
		`["k[0]","list.t","k.x"]`:  nil,
		`["a[", 3, "k"]`:           {"v"},
	} {
		fields := []ItemPath{{}}
		if diff := cmp.Diff(want, VectorTexts(json.RawMessage(pathValue), json.RawMessage(index), fields)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", index, diff)
		}
	}
}

// Only the beginning of a long list and a long text is used, and no letter is cut.
func TestVectorTextsAreBounded(t *testing.T) {
	t.Parallel()
	many := json.RawMessage(`{"a":[` + strings.Repeat(`"x",`, 1000) + `"y"]}`)
	if n := len(VectorTexts(many, json.RawMessage(`["a[*]","a[*]"]`), nil)); n != vectorTextsMost {
		t.Errorf("%d texts", n)
	}
	long := strings.Repeat("x", vectorTextMostSize-1) + "éé"
	if got := VectorTextCut(long); got != long[:vectorTextMostSize-1] {
		t.Errorf("cut to %d bytes: …%q", len(got), got[len(got)-3:])
	}
	if got := VectorTexts(json.RawMessage(`{"b":[`+strings.Repeat("1,", sortedMost)+`1],"a":0}`), nil, []ItemPath{{}}); len(got) != 1 || len(got[0]) > vectorTextMostSize {
		t.Errorf("%d texts of a large value", len(got))
	}
	if got := VectorTextCut("a\xffb"); got != "ab" {
		t.Errorf("%q", got)
	}
}

func TestRefusedItemIndexes(t *testing.T) {
	t.Parallel()
	many := `["a"` + strings.Repeat(`,"a"`, pathsMost) + `]`
	for index, field := range map[string]string{
		`["ok","a["]`: "index[1]", `["a[x]"]`: "index[0]", `["a]"]`: "index[0]", `["{a"]`: "index[0]", `["{a}.b"]`: "index[0]",
		`["{{a}}"]`: "index[0]", `["{a[0]}"]`: "index[0]", `["{}"]`: "index[0]", `["a}"]`: "index[0]", `["a[]"]`: "index[0]",
		`["` + strings.Repeat("x", pathMostSize+1) + `"]`: "index[0]", many: "index",
		`["a.b","c[0][-1]","[*].d","{x,y.z}","$","","*"]`: "", "null": "", "false": "", "": "",
	} {
		err := CheckItemIndex(json.RawMessage(index))
		got := ""
		if err != nil {
			got = fmt.Sprint(mapping.Classify(err).Detail.(map[string]any)["field"])
		}
		if got != field {
			t.Errorf("%.60s: %v, want a problem about %q", index, err, field)
		}
	}
}

// No path fails or returns more than the value contains.
func FuzzItemPath(f *testing.F) {
	for _, path := range []string{"$", "a.b", "list[*].t", "a[-1]", "{x,y}", "a.*.{b,c}", "[[*]]", "{{"} {
		f.Add(path, pathValue)
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		path, err := ParseItemPath(text)
		if err != nil || !json.Valid([]byte(value)) {
			return
		}
		seen := 0
		path.each(json.RawMessage(value), func(at json.RawMessage) bool {
			if seen++; !json.Valid(at) {
				t.Fatalf("%q finds %q", text, at)
			}
			return true
		})
		if seen > max(len(value), 1)*max(len(path.last), 1) {
			t.Fatalf("%q finds %d values in %d bytes", text, seen, len(value))
		}
	})
}
