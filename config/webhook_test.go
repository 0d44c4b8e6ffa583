package config

import "testing"

func TestMayCall(t *testing.T) {
	t.Parallel()
	w := Webhooks{Hosts: []string{"hooks.example.com", "*.Example.org", "10.0.0.5"}}
	for host, want := range map[string]bool{
		"hooks.example.com":          true,
		"HOOKS.example.com.":         true,
		"other.example.com":          false,
		"hooks.example.com.evil.net": false,
		"example.org":                false,
		"a.example.org":              true,
		"a.b.example.org":            true,
		"aexample.org":               false,
		".example.org":               true, // not a resolvable name
		"10.0.0.5":                   true,
		"110.0.0.5":                  false,
		"":                           false,
	} {
		if got := w.MayCall(host); got != want {
			t.Errorf("%q: %t", host, got)
		}
	}
	if !(Webhooks{}).MayCall("any.example.com") {
		t.Error("without a list any host may be called")
	}
}
