package threadrun

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter"
)

// TestProgramsSendAKey checks that programs send a key only if the bridge requires one.
func TestProgramsSendAKey(t *testing.T) {
	t.Parallel()
	for _, keys := range []bool{false, true} {
		for _, c := range code(adapter.SnippetParams{URL: "http://b.test", Agent: "a", Input: json.RawMessage(`{"messages":[]}`), Keys: keys}) {
			if strings.Contains(c.Text, "APBRIDGE_KEY") != keys || strings.Contains(c.Text, "import os") != (keys && c.Language == "Python") {
				t.Errorf("%s, keys %v:\n%s", c.ID, keys, c.Text)
			}
		}
	}
}

// TestInputInPython checks that input is written as a literal if Python reads it like JSON, and is parsed as JSON
// otherwise.
func TestInputInPython(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		`{"a": ["b", 1.5e3, {}]}`: `{"a":["b",1.5e3,{}]}`,
		`"😀"`:                     `json.loads("\"\\ud83d\\ude00\"")`,
		`"a\/b"`:                  `json.loads("\"a\\/b\"")`,
		`{"a":true}`:              `json.loads("{\"a\":true}")`,
		`[false]`:                 `json.loads("[false]")`,
		`null`:                    `json.loads("null")`,
	} {
		imports, got := inPython(adapter.InASCII(json.RawMessage(input)))
		if got != want || (imports != "") != strings.HasPrefix(want, "json.") {
			t.Errorf("%s: %q %s, want %s", input, imports, got, want)
		}
	}
}
