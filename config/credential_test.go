package config_test

import (
	"slices"
	"testing"

	"github.com/apbridge/apbridge/config"
)

// TestCredentials: of each header in every spelling, longest first, and no short word.
func TestCredentials(t *testing.T) {
	t.Parallel()
	a := config.Agent{Headers: map[string]config.Secret{
		"Authorization": "Basic dXNlcjpodW50ZXIrMg==", "X-Key": `a"b&c/d`, "Cookie": "session=crumbs; a=b", "X-User": "{principal.id}", "X-Mode": "on",
	}}
	got := a.Credentials()
	for _, want := range []string{
		"Basic dXNlcjpodW50ZXIrMg==", "dXNlcjpodW50ZXIrMg==", "user:hunter+2", "hunter+2", "hunter%2B2", `a"b&c/d`, `a\"b&c/d`, `a\"b\u0026c/d`, "a%22b%26c%2Fd", "crumbs",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is missing", want)
		}
	}
	for i, s := range got {
		if len(s) < 4 || s == "{principal.id}" || i > 0 && len(got[i-1]) < len(s) {
			t.Errorf("%q at %d of %q", s, i, got)
		}
	}
}
