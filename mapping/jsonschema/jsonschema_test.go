package jsonschema

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestProblem(t *testing.T) {
	t.Parallel()
	const decision = `{"type":"object","properties":{"days":{"type":"integer","minimum":1},"who":{"type":"string","pattern":"^[a-z]+$"}},"required":["days"]}`
	large := `{"type":"integer","description":"` + strings.Repeat("x", mostBytes) + `"}`
	for _, c := range []struct{ schema, value, says string }{
		{decision, `{"days":3}`, ""},
		{decision, `{"days":3.0}`, ""},
		{decision, `{"days":"three"}`, "at '/days': got string, want integer"},
		{decision, `{}`, "at '': missing property 'days'"},
		{decision, `{"days":1,"who":"SECRET1"}`, "at '/who': does not fit its pattern"},
		{decision, `"yes"`, "at '': got string, want object"},
		{`{"enum":["a","b"]}`, `"SECRET2"`, "at '': value must be one of 'a', 'b'"},
		{`{"type":"boolean"}`, `null`, "at '': got null, want boolean"},
		{`{"anyOf":[{"type":"string"},{"type":"integer"}]}`, `1.5`, "got number, want integer"},
		{`{"$defs":{"n":{"type":"integer"}},"$ref":"#/$defs/n"}`, `"x"`, "want integer"},
		{`false`, `1`, "false schema"},
		{`true`, `1`, ""},
		// Unusable schemas.
		{`{"$ref":"https://example.com/schema.json"}`, `1`, ""},
		{`{"$ref":"other.json"}`, `1`, ""},
		{`{"type":5}`, `1`, ""},
		{`{"pattern":"("}`, `"a"`, ""},
		{`[]`, `1`, ""},
		{`{"type":`, `1`, ""},
		{``, `1`, ""},
		{large, `"x"`, ""},
		{`{"type":"integer"}`, `{"a":`, ""},
		{`{"maximum":5}`, `1e999999999`, ""},
		{`{"maximum":1e999999999}`, `6`, ""},
	} {
		got := Problem(json.RawMessage(c.schema), json.RawMessage(c.value))
		if (got == "") != (c.says == "") || !strings.Contains(got, c.says) || strings.Contains(got, "SECRET") {
			t.Errorf("Problem(%.80s, %s) = %q, want %q", c.schema, c.value, got, c.says)
		}
	}
}

// A schema cannot reference a file of this machine.
func TestNothingIsLoaded(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "schema.json")
	if err := os.WriteFile(file, []byte(`{"type":"integer"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := Problem(json.RawMessage(`{"$ref":"file://`+file+`"}`), json.RawMessage(`"x"`)); got != "" {
		t.Errorf("the file was read: %s", got)
	}
}

func FuzzProblem(f *testing.F) {
	f.Add([]byte(`{"type":"object","required":["a"]}`), []byte(`{"a":1}`))
	f.Add([]byte(`{"$ref":"#"}`), []byte(`[1,"x"]`))
	f.Add([]byte(`{"items":{"$ref":"#"},"uniqueItems":true,"pattern":"a+"}`), []byte(`[[],[]]`))
	f.Fuzz(func(t *testing.T, schema, value []byte) {
		if got := Problem(schema, value); utf8.Valid(value) && utf8.Valid(schema) && !utf8.ValidString(got) {
			t.Errorf("Problem(%q, %q) = %q", schema, value, got)
		}
	})
}
