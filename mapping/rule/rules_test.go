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
		"users/{principal.id}": "users key-1", "{principal.name}": "", "{principal}": "",
		"{missing}": "", "{o}": "", "a//b": "", "": "", "{user": "", "a/{configurable.team}": "", "a.b": "",
	} {
		ns, ok := ExpandNamespace(template, TemplateValues{metadata, configurable, "key-1"})
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
	const write = `{"namespace":["a"],"key":"k","value":{}},`
	if got, err := MemoryWrites(asRaw(`{"memory":[` + strings.TrimSuffix(strings.Repeat(write, MostWrites), ",") + `]}`)); len(got) != MostWrites || err != nil {
		t.Errorf("%d writes, %v", len(got), err)
	}
	for _, bad := range []string{`[` + strings.TrimSuffix(strings.Repeat(write, MostWrites+1), ",") + `]`, `5`, `[5]`, `[{"namespace":[],"key":"k","value":{}}]`, `[{"namespace":["a.b"],"key":"k","value":{}}]`, `[{"namespace":[1],"key":"k","value":{}}]`,
		`[{"namespace":["a"],"value":{}}]`, `[{"namespace":["a"],"key":"k"}]`, `[{"namespace":["a"],"key":"k","value":"x"}]`} {
		if _, err := MemoryWrites(asRaw(`{"memory":` + bad + `}`)); mapping.Classify(err).Class != mapping.Invalid {
			t.Errorf("MemoryWrites(%s): %v, want Invalid", bad, err)
		}
	}
}

func TestStateTasks(t *testing.T) {
	t.Parallel()
	open := []mapping.Interrupt{{ID: "i", Value: asRaw(`{"q": 1}`)}, {ID: "j"}}
	id := mapping.StateTaskID(someRun)
	for _, c := range []struct{ got, want string }{
		{string(StateTasks("t", someRun, nil, nil, nil)), `[]`},
		{string(StateTasks("t", someRun, []string{"step"}, nil, nil)), `[{"id":"` + id + `","name":"step","error":null,"interrupts":[],"path":["__pregel_pull","step"],"checkpoint":null,"state":null,"result":null}]`},
		{string(StateTasks("t", someRun, []string{"step"}, &mapping.Fault{Code: "c", Message: "It failed."}, open[1:])), `[{"id":"` + id + `","name":"step","error":"It failed.","interrupts":[{"id":"j","value":null}],"path":["__pregel_pull","step"],"checkpoint":null,"state":null,"result":null}]`},
		// A graph's questions are in the state tasks that ask them, as on its server.
		{string(StateTasks("t", someRun, []string{"step"}, &mapping.Fault{Code: "c", Name: "RangeError", Message: "It failed."}, nil)), `[{"id":"` + id + `","name":"step","error":"RangeError: It failed.","interrupts":[],"path":["__pregel_pull","step"],"checkpoint":null,"state":null,"result":null}]`},
		{string(StateTasks("t", someRun, []string{"a"}, nil, []mapping.Interrupt{{ID: "i", Task: "x", Within: "a:x|b:y"}})), `[{"id":"x","name":"a","error":null,"interrupts":[{"id":"i","value":null}],"path":["__pregel_pull","a"],"checkpoint":{"thread_id":"t","checkpoint_ns":"a:x"},"state":null,"result":null}]`},
		{string(StateTasks("t", someRun, []string{"a", "b"}, nil, []mapping.Interrupt{{ID: "i", Task: "x"}, {ID: "j", Task: "y", Schema: asRaw(`{"type":"integer"}`)}})),
			`[{"id":"x","name":"a","error":null,"interrupts":[{"id":"i","value":null}],"path":["__pregel_pull","a"],"checkpoint":null,"state":null,"result":null},` +
				`{"id":"y","name":"b","error":null,"interrupts":[{"id":"j","value":null,"response_schema":{"type":"integer"}}],"path":["__pregel_pull","b"],"checkpoint":null,"state":null,"result":null}]`},
	} {
		if c.got != c.want {
			t.Errorf("got %s\nwant %s", c.got, c.want)
		}
	}
}
