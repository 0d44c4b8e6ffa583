package rule

import (
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
)

func TestMergeMetadata(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ base, patch, want string }{
		{`{"a":1,"b":{"x":1}}`, `{"b":{"y":2},"c":null}`, `{"a":1,"b":{"y":2},"c":null}`},
		{``, ``, `{}`}, {`null`, `{"a": 1}`, `{"a":1}`}, {`{"a":1}`, `null`, `{"a":1}`},
	} {
		got, err := MergeMetadata(asRaw(c.base), asRaw(c.patch))
		if err != nil || string(got) != c.want {
			t.Errorf("MergeMetadata(%s, %s) = %s, %v", c.base, c.patch, got, err)
		}
	}
	if _, err := MergeMetadata(nil, asRaw(`[]`)); mapping.Classify(err).Class != mapping.Invalid {
		t.Errorf("a list as metadata: %v", err)
	}
}

func TestFilter(t *testing.T) {
	t.Parallel()
	const value = `{"n":4,"\u00e9\n":1,"é":2,"n":5,"s":"m","o":{"a":1,"b":2},"z":null}`
	for _, c := range []struct {
		filter string
		ok     bool
	}{
		{`{"é\n":1,"\u00e9":2}`, true}, {`{"\\u00e9":2}`, false}, {``, true}, {`null`, true}, {`{}`, true}, {`{"n":5}`, true}, {`{"n":5.0}`, true}, {`{"n":6}`, false}, {`{"x":5}`, false},
		{`{"o":{"a":1}}`, true}, {`{"n":5,"s":"x"}`, false}, {`{"z":null}`, true}, {`{"x":null}`, false},
		{`{"n":{"$eq":5}}`, true}, {`{"n":{"$ne":5}}`, false}, {`{"x":{"$ne":5}}`, true}, {`{"x":{"$eq":null}}`, false},
		{`{"n":{"$gt":4,"$lt":6}}`, true}, {`{"n":{"$gt":5}}`, false}, {`{"n":{"$gte":5}}`, true}, {`{"n":{"$lte":4.5}}`, false}, {`{"n":{"$lte":5}}`, true},
		{`{"s":{"$gt":"a"}}`, true}, {`{"s":{"$lt":"a"}}`, false}, {`{"s":{"$gt":1}}`, false}, {`{"n":{"$gt":"1"}}`, false}, {`{"x":{"$gt":1}}`, false},
	} {
		if f, err := ParseFilter(asRaw(c.filter)); err != nil || f.Match(asRaw(value)) != c.ok {
			t.Errorf("%s: %v, %v", c.filter, !c.ok, err)
		}
	}
	for _, filter := range []string{`[]`, `{"x":{"$regex":"a"}}`, `{"x":{"$eq":1,"a":2}}`, `{"n":{"$lt":1,"$in":[5]}}`, `{"a":`} {
		if _, err := ParseFilter(asRaw(filter)); mapping.Classify(err).Class != mapping.Invalid {
			t.Errorf("ParseFilter(%s): %v, want Invalid", filter, err)
		}
	}
}

func TestNamespaces(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ns, prefix, suffix string
		ok                 bool
	}{
		{"a b c", "", "", true}, {"a b c", "a", "c", true}, {"a b c", "a *", "", true}, {"a b c", "* * *", "* *", true},
		{"a b c", "a b c d", "", false}, {"a b c", "b", "", false}, {"a b c", "", "b", false}, {"ab", "a", "", false}, {"a", "a", "a", true},
	} {
		if got := MatchNamespace(strings.Fields(c.ns), strings.Fields(c.prefix), strings.Fields(c.suffix)); got != c.ok {
			t.Errorf("MatchNamespace(%s, %s, %s) = %v", c.ns, c.prefix, c.suffix, got)
		}
	}
	for _, ns := range [][]string{nil, {}, {""}, {"a", ""}, {"a.b"}} {
		if err := CheckNamespace(ns); mapping.Classify(err).Class != mapping.Invalid {
			t.Errorf("CheckNamespace(%q) = %v", ns, err)
		}
	}
	if err := CheckNamespace([]string{"users", "42"}); err != nil {
		t.Error(err)
	}
}

func TestExpandNamespace(t *testing.T) {
	t.Parallel()
	metadata, configurable := asRaw(`{"user":"u1","team":7,"o":{}}`), asRaw(`{"user":"u2","thread_id":"t"}`)
	for template, want := range map[string]string{
		"memories": "memories", "users/{metadata.user}/facts": "users u1 facts", "users/{user}": "users u2", "{team}/x-{configurable.thread_id}": "7 x-t",
		"{missing}": "", "{o}": "", "a//b": "", "": "", "{user": "", "a/{configurable.team}": "", "a.b": "",
	} {
		ns, ok := ExpandNamespace(template, metadata, configurable)
		if ok != (want != "") || ok && strings.Join(ns, " ") != want {
			t.Errorf("ExpandNamespace(%q) = %q, %v", template, ns, ok)
		}
	}
}

func TestMemoryWrites(t *testing.T) {
	t.Parallel()
	got, err := MemoryWrites(asRaw(`{"memory":[{"namespace":["a","b"],"key":"k","value":{"x": 1}},{"namespace":["a"],"key":"k","value":null}]}`))
	want := []MemoryWrite{{[]string{"a", "b"}, "k", asRaw(`{"x": 1}`)}, {[]string{"a"}, "k", nil}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for _, none := range []string{``, `null`, `"text"`, `{}`, `{"memory":null}`} {
		if got, err := MemoryWrites(asRaw(none)); got != nil || err != nil {
			t.Errorf("MemoryWrites(%s) = %v, %v", none, got, err)
		}
	}
	for _, bad := range []string{`5`, `[5]`, `[{"namespace":[],"key":"k","value":{}}]`, `[{"namespace":["a.b"],"key":"k","value":{}}]`, `[{"namespace":[1],"key":"k","value":{}}]`,
		`[{"namespace":["a"],"value":{}}]`, `[{"namespace":["a"],"key":"k"}]`, `[{"namespace":["a"],"key":"k","value":"x"}]`} {
		if _, err := MemoryWrites(asRaw(`{"memory":` + bad + `}`)); mapping.Classify(err).Class != mapping.Invalid {
			t.Errorf("MemoryWrites(%s): %v, want Invalid", bad, err)
		}
	}
}

func TestStateTasks(t *testing.T) {
	t.Parallel()
	open := []mapping.Interrupt{{ID: "i", Value: asRaw(`{"q": 1}`), Task: "x"}, {ID: "j"}}
	id := mapping.StateTaskID(someRun)
	for _, c := range []struct{ got, want string }{
		{string(StateTasks(someRun, nil, nil, nil)), `[]`},
		{string(StateTasks(someRun, []string{"step"}, nil, nil)), `[{"id":"` + id + `","name":"step","error":null,"interrupts":[],"path":["__pregel_pull","step"],"checkpoint":null,"state":null,"result":null}]`},
		{string(StateTasks(someRun, []string{"step"}, &mapping.Fault{Code: "c", Message: "It failed."}, open)), `[{"id":"` + id + `","name":"step","error":"It failed.","interrupts":[{"id":"i","value":{"q": 1}},{"id":"j","value":null}],"path":["__pregel_pull","step"],"checkpoint":null,"state":null,"result":null}]`},
	} {
		if c.got != c.want {
			t.Errorf("got %s\nwant %s", c.got, c.want)
		}
	}
}
