package challenge

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func tree(files ...string) fstest.MapFS {
	t := fstest.MapFS{}
	for i := 0; i+1 < len(files); i += 2 {
		t[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	return t
}

func named(name, more string) string {
	return `{"name":"` + name + `","task":"do it","ground":{"files":["a.txt"],"eval":{"type":"file"}}` + more + `}`
}

// An invalid file is reported with its field, and the others are loaded.
func TestFaults(t *testing.T) {
	t.Parallel()
	for says, bad := range map[string]string{
		"bad/data.json: line 2 is not JSON":                                         "{\n\"name\":",
		"bad/data.json: name: is missing":                                           `{}`,
		"bad/data.json: task: is missing":                                           `{"name":"A"}`,
		"bad/data.json: cutoff: is negative":                                        named("A", `,"cutoff":-5`),
		"bad/data.json: cutoff: is a JSON string, not a whole number":               named("A", `,"cutoff":"5"`),
		"bad/data.json: category: is a JSON string, not a list of strings":          named("A", `,"category":"x"`),
		"bad/data.json: ground: is a JSON array, not an object":                     `{"name":"A","task":"x","ground":[]}`,
		"bad/data.json: ground.eval.type: is missing":                               `{"name":"A","task":"x","ground":{"files":["x"]}}`,
		`bad/data.json: ground.eval.type: is "guess"; it is one of file, python`:    `{"name":"A","task":"x","ground":{"files":["x"],"eval":{"type":"guess"}}}`,
		"bad/data.json: ground.files: is empty":                                     `{"name":"A","task":"x","ground":{"eval":{"type":"file"}}}`,
		"bad/data.json: ground.files: has an empty name":                            `{"name":"A","task":"x","ground":{"files":[""],"eval":{"type":"file"}}}`,
		"bad/data.json: ground.case_sensitive: is a JSON string, not true or false": `{"name":"A","task":"x","ground":{"files":["x"],"case_sensitive":"no","eval":{"type":"file"}}}`,
		"bad/data.json: ground.eval.scoring: is missing; it is one of percentage":   `{"name":"A","task":"x","ground":{"files":["x"],"eval":{"type":"llm","template":"rubric"}}}`,
		`bad/data.json: ground.eval.template: is "custom"; it is one of rubric`:     `{"name":"A","task":"x","ground":{"files":["x"],"eval":{"type":"llm","scoring":"scale","template":"custom"}}}`,
		`good/data.json: name: "Good" is already used by bad/data.json`:             named("Good", ""),
	} {
		found, err := Load(tree("bad/data.json", bad, "good/data.json", named("Good", "")), "x")
		list, faults := found.Challenges, found.Faults
		if err != nil || len(list) != 1 || len(faults) != 1 || !strings.HasPrefix(faults[0].Error(), says) {
			t.Errorf("%d challenges, faults %v, %v; want %q", len(list), faults, err, says)
		}
	}
	if _, err := Load(tree("x.txt", ""), "x"); !errors.Is(err, ErrNone) {
		t.Errorf("a folder without any: %v", err)
	}
}

// Challenges that agbenchmark leaves out are left out, wherever the loaded root is. Challenges of optional categories
// run if they are selected.
func TestLeftOut(t *testing.T) {
	t.Parallel()
	below := []string{
		"deprecated/code/1/data.json", named("Sum", ""), "library/x/data.json", named("Price", ""), "code/library/data.json", named("Sum", ""),
		"code/2/data.json", named("Shop", `,"category":["code","shopping"]`), "optional_categories.json", `{"optional_categories":["shopping"]}`,
	}
	above := slices.Clone(below)
	for i := 0; i < len(above); i += 2 {
		above[i] = "bench/challenges/" + above[i]
	}
	for root, files := range map[string][]string{"/home/me/challenges": below, "challenges": below, ".": above} {
		found, err := Load(tree(files...), root)
		if err != nil || strings.Join(names(found.Challenges), " ") != "Shop Sum" || len(found.Retired) != 2 || len(found.Faults) > 0 {
			t.Errorf("%s: %v, %+v", root, err, found)
		}
	}
	if found, err := Load(tree(below...), "mine"); err != nil || len(found.Challenges) != 3 || len(found.Retired) != 0 {
		t.Errorf("a folder of another name: %v, %+v", err, found)
	}
	found, err := Load(tree(below...), "challenges")
	if err != nil {
		t.Fatal(err)
	}
	for want, s := range map[string]Selection{
		"Sum": {}, "Shop": {Categories: []string{"shopping"}}, " Shop": {Only: []string{"Shop"}}, "Sum ": {Skip: []string{"Shop"}},
	} {
		list, err := s.From(found.Challenges)
		if got := strings.Join(names(list), " "); err != nil || got != strings.TrimSpace(want) {
			t.Errorf("%+v: %s, %v", s, got, err)
		}
	}
	if _, err := Load(tree("a/data.json", named("A", ""), "optional_categories.json", `[]`), "x"); err == nil || !strings.HasPrefix(err.Error(), "optional_categories.json: is a JSON array") {
		t.Errorf("a list that is none: %v", err)
	}
}

// A suite.json holds for the challenges below its folder.
func TestSuite(t *testing.T) {
	t.Parallel()
	found, err := Load(tree(
		"s/suite.json", `{"same_task":true,"prefix":"TestR","dependencies":["TestBasic"],"cutoff":30,"task":"find it","shared_category":["data"]}`,
		"s/1/data.json", `{"name":"TestR_1","category":["x"],"ground":{"files":[".txt"],"eval":{"type":"file"}}}`,
		"s/2/data.json", named("TestR_2", `,"cutoff":7`),
		"t/suite.json", `[]`,
		"t/1/data.json", named("T", ""),
	), "x")
	list, faults := found.Challenges, found.Faults
	if err != nil || len(list) != 2 || len(faults) != 1 || faults[0].File != "t/suite.json" {
		t.Fatal(list, faults, err)
	}
	one, two := list[0], list[1]
	if diff := cmp.Diff([]string{"x", "data"}, one.Category); diff != "" || one.Task != "find it" || one.Limit() != 30*time.Second || one.Dependencies[0] != "TestBasic" {
		t.Errorf("%+v", one)
	}
	if two.Task != "do it" || two.Limit() != 7*time.Second {
		t.Errorf("its own goes before: %+v", two)
	}
}

func names(list []Challenge) (n []string) {
	for _, c := range list {
		n = append(n, c.Name)
	}
	return n
}

func TestOrder(t *testing.T) {
	t.Parallel()
	found, err := Load(tree("a/data.json", named("A", `,"dependencies":["TestC"]`), "b/data.json", named("B", `,"dependencies":["D","Gone"]`),
		"c/data.json", named("C", ""), "d/data.json", named("D", `,"dependencies":["E"]`), "e/data.json", named("E", `,"dependencies":["D"]`)), "x")
	if err != nil {
		t.Fatal(err)
	}
	ordered, faults := Order(found.Challenges)
	if diff := cmp.Diff([]string{"C", "A", "B"}, names(ordered)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(faults) != 2 || faults[0].Error() != "d/data.json: dependencies: are circular: D, E, D" {
		t.Errorf("%v", faults)
	}
}

func TestSelection(t *testing.T) {
	t.Parallel()
	found, err := Load(tree("a/data.json", named("A", `,"category":["x"]`), "b/data.json", named("B", `,"category":["y"],"dependencies":["A"]`), "c/data.json", named("C", `,"category":["x","y"]`)), "x")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		name  string
		s     Selection
		want  string
		error string
	}{
		{"all", Selection{}, "A B C", ""},
		{"a category, with what it needs", Selection{Categories: []string{"y"}}, "A B C", ""},
		{"a category alone", Selection{Categories: []string{"y"}, Alone: true}, "B C", ""},
		{"a name, as harnesses spell it", Selection{Only: []string{" TestB"}}, "A B", ""},
		{"a name alone", Selection{Only: []string{"B"}, Alone: true}, "B", ""},
		{"without one", Selection{Skip: []string{"A"}}, "B C", ""},
		{"skip goes before", Selection{Only: []string{"B"}, Skip: []string{"A"}}, "B", ""},
		{"nothing left", Selection{Only: []string{"A"}, Skip: []string{"A"}}, "", "no challenges are left; known challenges: A, B, C"},
		{"an unknown name", Selection{Only: []string{"Z"}}, "", `there is no challenge "Z"; known challenges: A, B, C`},
		{"an unknown name to skip", Selection{Skip: []string{"Z"}}, "", `there is no challenge "Z"`},
		{"an unknown category", Selection{Categories: []string{"z"}}, "", `there is no category "z"; known categories: x, y`},
	} {
		list, err := x.s.From(found.Challenges)
		if got := strings.Join(names(list), " "); got != x.want || x.error == "" != (err == nil) || err != nil && !strings.HasPrefix(err.Error(), x.error) {
			t.Errorf("%s: %q, %v; want %q, %s", x.name, got, err, x.want, x.error)
		}
	}
}

// The embedded challenges satisfy agbenchmark and have no other dependencies.
func TestBuiltin(t *testing.T) {
	t.Parallel()
	found, err := Builtin()
	list, faults := found.Challenges, found.Faults
	if err != nil || len(faults) > 0 || len(list) != 7 {
		t.Fatal(len(list), faults, err)
	}
	for _, c := range list {
		if !strings.HasPrefix(c.Info.Description, "Tests if the agent can") || c.Info.Difficulty == "" || len(c.Category) == 0 {
			t.Errorf("%s: agbenchmark would not take its info %+v", c.Name, c.Info)
		}
		if _, err := (Selection{Only: c.Dependencies}).From(list); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
}

// Any data.json is a challenge or a fault.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(named("A", "")), []byte(`{"cutoff":1}`))
	f.Add([]byte(`{"name":1}`), []byte(`[`))
	f.Fuzz(func(t *testing.T, data, suite []byte) {
		found, err := Load(tree("s/a/data.json", string(data), "s/suite.json", string(suite)), "x")
		list, faults := found.Challenges, found.Faults
		if err != nil || len(list)+len(faults) != 1 {
			t.Errorf("%d challenges, faults %v, %v", len(list), faults, err)
		}
		Order(list)
	})
}
