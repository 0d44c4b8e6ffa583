package rule

import "testing"

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
