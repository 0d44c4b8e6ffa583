package rule

import (
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

func TestThreadConfig(t *testing.T) {
	t.Parallel()
	long := `{"tags":["` + strings.Repeat("x", mostThreadConfig) + `"]}`
	for name, c := range map[string]struct{ thread, assistant, request, want string }{
		"nothing is added":         {thread: `{"tags":["t"]}`, want: `{"tags":["t"]}`},
		"of the request":           {thread: `{}`, request: `{"tags":["t"],"recursion_limit":7,"configurable":{"user":"ada"}}`, want: `{"tags":["t"],"recursion_limit":7,"configurable":{"user":"ada"}}`},
		"in their order":           {`{"configurable":{"b":2,"c":2}}`, `{"configurable":{"a":1,"b":1,"c":1}}`, `{"configurable":{"c":3}}`, `{"configurable":{"a":1,"b":2,"c":3}}`},
		"what is not kept":         {thread: `{}`, request: `{"configurable":{"openai_api_key":"k","checkpoint_id":"c","thread_id":"t","run_id":"r","__internal":"x","apbridge":{}}}`, want: `{}`},
		"a request that is long":   {thread: `{"tags":["t"]}`, request: long, want: `{"tags":["t"]}`},
		"config that is no object": {thread: `{"tags":["t"]}`, assistant: `[]`, request: `1`, want: `{"tags":["t"]}`},
	} {
		got := ThreadConfig([]byte(c.thread), LastingConfig([]byte(c.assistant)), LastingConfig([]byte(c.request)))
		if !rawjson.Equal(got, []byte(c.want)) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestMergeConfig(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ base, over, config, context string }{
		{``, ``, ``, ``},
		{`null`, ``, ``, ``},
		{`{"a":1}`, ``, `{"a":1}`, `{"a":1}`},
		{``, `{"a":1}`, `{"a":1}`, `{"a":1}`},
		{`{"a":1,"b":1.50}`, `{"b":2,"c":3}`, `{"a":1,"b":2,"c":3}`, `{"a":1,"b":2,"c":3}`},
		{`{"a":1}`, `{"a":null}`, `{"a":1}`, `{"a":1}`},
		{
			`{"tags":["x"],"configurable":{"model":"m","user":"u"}}`, `{"configurable":{"user":"v"},"tags":["y"]}`,
			`{"tags":["y"],"configurable":{"model":"m","user":"v"}}`, `{"tags":["y"],"configurable":{"user":"v"}}`,
		},
		{`{"configurable":{"a":{"b":1}}}`, `{"configurable":{"a":{"c":2}}}`, `{"configurable":{"a":{"c":2}}}`, `{"configurable":{"a":{"c":2}}}`},
	} {
		config, err := MergeConfig([]byte(c.base), []byte(c.over))
		context, err2 := MergeContext([]byte(c.base), []byte(c.over))
		if err != nil || err2 != nil || string(config) != c.config || string(context) != c.context {
			t.Errorf("%s over %s: %s %s %v %v", c.over, c.base, config, context, err, err2)
		}
	}
	for _, bad := range [][2]string{{`[]`, `{}`}, {`{}`, `1`}, {`{"configurable":{}}`, `{"configurable":1}`}} {
		if got, err := MergeConfig([]byte(bad[0]), []byte(bad[1])); err == nil {
			t.Errorf("%s: %s", bad, got)
		}
	}
}
