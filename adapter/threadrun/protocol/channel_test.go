package protocol

import (
	"strings"
	"testing"
)

func TestNamespaces(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		filter string
		ns     []string
		want   bool
	}{
		{`{"channels":["values"]}`, []string{"a:1", "b:2"}, true},
		{`{"channels":["values"],"namespaces":[]}`, []string{"a:1"}, true},
		{`{"channels":["values"],"namespaces":[[]],"depth":1}`, nil, true},
		{`{"channels":["values"],"namespaces":[[]],"depth":1}`, []string{"a:1"}, true},
		{`{"channels":["values"],"namespaces":[[]],"depth":1}`, []string{"a:1", "b:2"}, false},
		{`{"channels":["values"],"namespaces":[["a"]]}`, []string{"a:1", "b:2"}, true},
		{`{"channels":["values"],"namespaces":[["a:1"]]}`, []string{"a:1"}, true},
		{`{"channels":["values"],"namespaces":[["a:2"]]}`, []string{"a:1"}, false},
		{`{"channels":["values"],"namespaces":[["b"],["a"]],"depth":0}`, []string{"a:1"}, true},
		{`{"channels":["values"],"namespaces":[["a","b"]]}`, []string{"a:1"}, false},
		{`{"channels":["values"],"namespaces":[["ab"]]}`, []string{"a:1"}, false},
	} {
		p, err := parse(raw(tt.filter), 0)
		if err != nil {
			t.Fatal(err)
		}
		f, err := readFilter(p)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.wants(&event{method: channelValues, namespace: tt.ns}, position{seq: 1}); got != tt.want {
			t.Errorf("%s, %q: %v", tt.filter, tt.ns, got)
		}
	}
}

func TestChannels(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		channel string
		ev      event
		want    bool
	}{
		{"input", event{method: methodRequested}, true},
		{"input", event{method: methodAnswered}, true},
		{"input", event{method: channelValues}, false},
		{"custom", event{method: channelCustom}, true},
		{"custom", event{method: channelCustom, name: "a"}, true},
		{"custom:a", event{method: channelCustom, name: "a"}, true},
		{"custom:b", event{method: channelCustom, name: "a"}, false},
		{"custom:a", event{method: channelCustom}, false},
	} {
		f := filter{channels: []string{tt.channel}}
		if got := f.wants(&tt.ev, position{seq: 1}); got != tt.want {
			t.Errorf("%s of %+v: %v", tt.channel, tt.ev, got)
		}
	}
}

func TestBadFilters(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		`{}`, `{"channels":[]}`, `{"channels":"values"}`, `{"channels":[1]}`, `{"channels":["nope"]}`, `{"channels":["custom:"]}`,
		`{"channels":["values"],"namespaces":["a"]}`, `{"channels":["values"],"namespaces":{}}`, `{"channels":["values"],"namespaces":[[1]]}`,
		`{"channels":["values"],"namespaces":[[]` + strings.Repeat(`,[]`, mostFiltered) + `]}`,
		`{"channels":["values"],"depth":-1}`, `{"channels":["values"],"depth":"1"}`, `{"channels":["values"],"since":1.5}`, `{"channels":["values"],"since":-1}`,
	} {
		p, err := parse(raw(bad), 0)
		if err != nil {
			t.Fatal(err)
		}
		if f, err := readFilter(p); err == nil {
			t.Errorf("%s was accepted as %+v", bad, f)
		}
	}
}
