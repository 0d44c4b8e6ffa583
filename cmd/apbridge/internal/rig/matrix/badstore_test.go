package matrix

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// badItem is a request to the store that must be refused with the field's name.
type badItem struct{ name, method, path, body, field string }

func badItems() (list []badItem) {
	add := func(method, path, field string, bodies map[string]string) {
		for name, body := range bodies {
			list = append(list, badItem{name, method, path, body, field})
		}
	}
	long, many := strings.Repeat("k", 1<<20), `["`+strings.Repeat(`a","`, 40)+`z"]`
	nested := strings.Repeat("[", 2000) + strings.Repeat("]", 2000)
	namespaces := map[string]string{
		"no labels": `[]`, "an empty label": `["a",""]`, "a dotted label": `["a","b.c"]`, "a dot": `["."]`, "numbers": `[1]`, "a text": `"a"`,
		"an object": `{"a":1}`, "U+0000": `["a\u0000"]`, "many labels": many, "a long label": `["` + strings.Repeat("l", 300) + `"]`, "null inside": `[null]`,
	}
	for name, ns := range namespaces {
		add("PUT", "/store/items", "namespace", map[string]string{"put, " + name: `{"namespace":` + ns + `,"key":"bad","value":{}}`})
	}
	add("PUT", "/store/items", "namespace", map[string]string{"put, no namespace": `{"key":"bad","value":{}}`})
	item := func(rest string) string { return `{"namespace":["bad"],` + rest + `}` }
	add("PUT", "/store/items", "key", map[string]string{
		"a key of a megabyte": item(`"key":"` + long + `","value":{}`), "an empty key": item(`"key":"","value":{}`), "no key": item(`"value":{}`),
		"a key that is a number": item(`"key":3,"value":{}`), "U+0000 in a key": item(`"key":"a\u0000","value":{}`),
	})
	add("PUT", "/store/items", "value", map[string]string{
		"no value": item(`"key":"bad"`), "a text as value": item(`"key":"bad","value":"x"`), "a list as value": item(`"key":"bad","value":[{}]`),
		"null as value": item(`"key":"bad","value":null`),
	})
	add("PUT", "/store/items", "", map[string]string{"a deep value": item(`"key":"bad","value":{"x":` + nested + `}`)})
	add("PUT", "/store/items", "ttl", map[string]string{"a ttl below 0": item(`"key":"bad","value":{},"ttl":-1`), "a ttl in words": item(`"key":"bad","value":{},"ttl":"soon"`)})
	add("PUT", "/store/items", "index", map[string]string{"an index that is true": item(`"key":"bad","value":{},"index":true`), "an index of numbers": item(`"key":"bad","value":{},"index":[1]`)})
	for name, filter := range map[string]string{
		"an unknown operator": `{"age":{"$near":3}}`, "an injected operator": `{"age":{"$where":"1=1"}}`, "a list": `[{"age":3}]`, "a text": `"age > 3"`,
		"an order of a list": `{"age":{"$gt":[1]}}`, "an order of true": `{"age":{"$lte":true}}`, "$in of a text": `{"age":{"$in":"3"}}`, "$exists of a number": `{"age":{"$exists":1}}`,
		"$or of an object": `{"$or":{"age":3}}`, "an empty $or": `{"$or":[]}`, "$and of texts": `{"$and":["age"]}`, "mixed": `{"age":{"$gt":3,"old":true}}`,
		"a bad one inside": `{"$or":[{"age":3},{"$and":[{"age":{"$like":"%"}}]}]}`, "an unknown key with a sign": `{"$nor":[{"age":3}]}`, "an unknown operator further in": `{"a":{"b":{"$near":3}}}`,
		"behind one that holds": `{"a":{"$exists":false,"$nope":1}}`,
	} {
		add("POST", "/store/items/search", "filter", map[string]string{"filter, " + name: `{"namespace_prefix":["a"],"filter":` + filter + `}`})
	}
	for field, bodies := range map[string]map[string]string{
		"namespace_prefix": {"a prefix that is a text": `"a"`, "a prefix of numbers": `[1]`, "a dotted prefix": `["a.b"]`, "a prefix with an empty label": `["a",""]`},
		"limit":            {"a limit below 0": `-1`, "a limit of 0.5": `0.5`, "a limit in words": `"ten; DROP TABLE items"`},
		"offset":           {"an offset below 0": `-1`, "an offset in words": `"0 OR 1=1"`},
		"sort_by":          {"an injected column": `"key; DROP TABLE items"`, "a score without a query": `"score"`, "a column of ours": `"tenant"`},
		"sort_order":       {"an unknown order": `"sideways"`},
		"query":            {"a query that is a list": `["tea"]`},
		"refresh_ttl":      {"a flag in words": `"yes"`},
	} {
		for name, value := range bodies {
			add("POST", "/store/items/search", field, map[string]string{name: `{"` + field + `":` + value + `}`})
		}
	}
	for field, bodies := range map[string]map[string]string{
		"max_depth": {"a depth of 0": `0`, "a depth below 0": `-1`}, "limit": {"listing, a limit below 0": `-1`}, "offset": {"listing, an offset below 0": `-3`},
		"prefix": {"listing, a prefix that is a text": `"users"`, "listing, a dotted prefix": `["a.b"]`}, "suffix": {"listing, a suffix of numbers": `[1]`},
	} {
		for name, value := range bodies {
			add("POST", "/store/namespaces", field, map[string]string{name: `{"` + field + `":` + value + `}`})
		}
	}
	add("DELETE", "/store/items", "key", map[string]string{"delete, an empty key": `{"namespace":["a"],"key":""}`, "delete, no key": `{"namespace":["a"]}`})
	add("DELETE", "/store/items", "namespace", map[string]string{"delete, a text as namespace": `{"namespace":"a","key":"k"}`, "delete, a dotted label": `{"namespace":["a.b"],"key":"k"}`, "delete, an empty label": `{"namespace":[""],"key":"k"}`})
	for name, query := range map[string][2]string{
		"no key": {"namespace=a", "key"}, "U+0000 in a key": {"namespace=a&key=a%00", "key"}, "no UTF-8 in a key": {"namespace=a&key=%FF", "key"},
		"an empty label": {"namespace=a..b&key=k", "namespace"}, "one of several is empty": {"namespace=a&namespace=&key=k", "namespace"},
		"a dotted label": {"namespace=a.b&namespace=c&key=k", "namespace"}, "U+0000 in a label": {"namespace=a%00&key=k", "namespace"},
		"a flag in words": {"namespace=a&key=k&refresh_ttl=perhaps", "refresh_ttl"},
	} {
		list = append(list, badItem{"get, " + name, "GET", "/store/items?" + query[0], "", query[1]})
	}
	return list
}

// TestStoreRefusesBadInput checks that, in both flavours, a 422 names the field and nothing is written.
func TestStoreRefusesBadInput(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, adaptertest.NewStepAgent(adaptertest.Plain))
	b.Do("PUT", "/store/items", `{"namespace":["a"],"key":"k","value":{"age":3}}`).Want(t, 204)
	for _, flavour := range []string{"agentprotocol", "langgraph"} {
		for _, bad := range badItems() {
			got := b.Do(bad.method, bad.path, bad.body, "X-Apbridge-Flavour", flavour)
			if got.Status != 422 || !strings.Contains(got.String(), bad.field) {
				t.Errorf("%s (%s): %d %.300s", bad.name, flavour, got.Status, got)
			}
		}
		all := b.Do("POST", "/store/items/search", `{}`).Want(t, 200)
		if items := all.List("items"); len(items) != 1 || !strings.Contains(all.String(), `"value":{"age":3}`) {
			t.Errorf("after the refusals the store has %.300s", all)
		}
	}
}

// Names and queries are used literally. Characters that have a meaning in SQL, patterns or a search syntax have none in
// them.
func TestStoreTakesCharactersLiterally(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, adaptertest.NewStepAgent(adaptertest.Plain))
	odd := []string{"%", "_", "a%", "a_", "ab", "a", "a/b", `a"b`, "a'b", "a\\\\b", "*a", "x'); DROP TABLE items; --", "é", "$1", "a{b}"}
	for _, name := range odd {
		b.Do("PUT", "/store/items", fmt.Sprintf(`{"namespace":[%q,"x"],"key":%q,"value":{"name":%q}}`, name, name, name)).Want(t, 204)
	}
	for _, name := range odd {
		for _, body := range []string{fmt.Sprintf(`{"namespace_prefix":[%q]}`, name), fmt.Sprintf(`{"filter":{"name":%q}}`, name), fmt.Sprintf(`{"filter":{"name":{"$in":[%q]}},"sort_by":"key"}`, name)} {
			if got := b.Do("POST", "/store/items/search", body).Want(t, 200); len(got.List("items")) != 1 {
				t.Errorf("%s finds %s", body, got)
			}
		}
		if got := b.Do("POST", "/store/namespaces", fmt.Sprintf(`{"prefix":[%q]}`, name)).Want(t, 200); strings.Count(got.String(), `"x"`) != 1 {
			t.Errorf("%q lists %s", name, got)
		}
	}
	for _, query := range []string{`' OR 1=1 --`, `name:*`, `"a" AND NOT`, `%`, `NEAR(a, b)`, `a* ^2 (`, `\u0000`} {
		b.Do("POST", "/store/items/search", fmt.Sprintf(`{"query":%q}`, query)).Want(t, 200, `"items":[`)
	}
	if got := b.Do("POST", "/store/items/search", `{"limit":100}`).Want(t, 200); len(got.List("items")) != len(odd) {
		t.Errorf("the store has %s", got)
	}
	for _, pattern := range []string{`{"prefix":["*","x"]}`, `{"suffix":["*"]}`, `{"prefix":["*"],"suffix":["x"]}`} {
		if got := b.Do("POST", "/store/namespaces", pattern).Want(t, 200); strings.Count(got.String(), `"x"`) != len(odd) {
			t.Errorf("%s lists %s", pattern, got)
		}
	}
}
