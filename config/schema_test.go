package config

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

var update = flag.Bool("update", false, "write schema.json")

// schema.json is generated from the types of the configuration and the comments in its example.
func TestSchemaIsOfTheseKeys(t *testing.T) {
	t.Parallel()
	root := schemaOf(reflect.TypeFor[Config](), "", exampleKeys(t))
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "Configuration of apbridge"
	var want bytes.Buffer
	enc := json.NewEncoder(&want)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(root); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("schema.json", want.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want.String(), Schema()); diff != "" {
		t.Errorf("schema.json does not match the keys (run go test ./config -update):\n%s", diff)
	}
}

// exampleKeys returns the keys of the example by path.
func exampleKeys(t *testing.T) map[string]*yaml.Node {
	t.Helper()
	raw, err := os.ReadFile(exampleFile)
	if err != nil {
		t.Fatal(err)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	keys := map[string]*yaml.Node{}
	var visit func(key string, n *yaml.Node)
	visit = func(key string, n *yaml.Node) {
		for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			name := n.Content[i].Value
			if key == "agents" || key == "limits.tenants" {
				name = "*"
			}
			n.Content[i].LineComment += n.Content[i+1].LineComment
			keys[join(key, name)] = n.Content[i]
			visit(join(key, name), n.Content[i+1])
		}
	}
	visit("", doc.Content[0])
	return keys
}

// schemaOf returns the schema for values of this type below the key.
func schemaOf(typ reflect.Type, key string, example map[string]*yaml.Node) map[string]any {
	switch {
	case typ == durationType:
		return map[string]any{"type": []string{"string", "integer"}, "pattern": `^(0|[0-9]+d|([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+)$`, "maximum": 0}
	case typ == bytesType:
		return map[string]any{"type": []string{"string", "integer"}, "pattern": `^[0-9.,]+ *([kKmMgGtTpPeE]i?)?[bB]?$`, "minimum": 0}
	case typ == rateType:
		return map[string]any{"type": []string{"string", "integer"}, "pattern": `^(0?|[1-9][0-9]* */ *[smhd])$`, "maximum": 0}
	case typ == byteRateType:
		return map[string]any{"type": []string{"string", "integer"}, "pattern": `^(0?|[0-9.,]+ *([kKmMgGtTpPeE]i?)?[bB]? */ *[smhd])$`, "maximum": 0}
	case typ.Kind() == reflect.Struct:
		return schemaOfKeys(typ, key, example)
	case typ.Kind() == reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": schemaOf(typ.Elem(), join(key, "*"), example)}
	case typ.Kind() == reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(typ.Elem(), key+"[]", example)}
	}
	return map[string]any{"type": map[reflect.Kind]string{reflect.Bool: "boolean", reflect.Int: "integer", reflect.String: "string"}[typ.Kind()]}
}

func schemaOfKeys(typ reflect.Type, key string, example map[string]*yaml.Node) map[string]any {
	properties, alone := map[string]any{}, map[string]any(nil)
	for i, name := range fieldNames(typ) {
		field := typ.Field(i)
		s := schemaOf(field.Type, join(key, name), example)
		if choices := field.Tag.Get("choice"); choices != "" {
			s["enum"] = strings.Fields(choices)
		}
		if at := example[join(key, name)]; at != nil {
			if words := wordsOf(at.HeadComment + "\n" + at.LineComment); words != "" {
				s["description"] = words
			}
		}
		if properties[name] = s; field.Tag.Get("alone") != "" {
			alone = map[string]any{"type": s["type"], "enum": s["enum"]}
		}
	}
	whole := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if alone != nil {
		return map[string]any{"anyOf": []any{alone, whole}}
	}
	return whole
}

// wordsOf returns the last block of a comment as text.
func wordsOf(comment string) string {
	blocks := strings.Split(strings.TrimSpace(comment), "\n\n")
	var words []string
	for line := range strings.Lines(blocks[len(blocks)-1]) {
		words = append(words, strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "#"))...)
	}
	return strings.Join(words, " ")
}

// The schema accepts valid files, and refuses mistakes that an editor should underline.
func TestSchemaRefuses(t *testing.T) {
	t.Parallel()
	const agent = "agents: {a: {url: 'http://127.0.0.1:1'}}\n"
	example, err := os.ReadFile(exampleFile)
	if err != nil {
		t.Fatal(err)
	}
	compiled := compileSchema(t)
	for _, tt := range []struct {
		name, file string
		fine       bool
	}{
		{"the example", string(example), true},
		{"durations and sizes", agent + "retention: {events: 7d, threads: 1h30m, checkpoints: 0}\nlimits: {body: 64KiB, event: 1024, artifact: 1.5GB}\n", true},
		{"a key", agent + "auth: {keys: [{id: a, key: 'env:KEY', agents: [a]}]}\n", true},
		{"a misspelt key", agent + "lisen: x\n", false},
		{"a misspelt key of an agent", "agents: {a: {url: 'http://127.0.0.1:1', max_step: 3}}\n", false},
		{"a choice that there is not", agent + "synchronous: sometimes\n", false},
		{"a choice of an agent's stepping", "agents: {a: {url: 'http://127.0.0.1:1', stepping: {mode: x}}}\n", false},
		{"a duration in words", agent + "retention: {events: soon}\n", false},
		{"a duration without a unit", agent + "retention: {events: 30}\n", false},
		{"rates", agent + "limits: {tenant: {requests: 100/s, runs: 10/m, upload: 10MiB/s}, tenants: {acme: {requests: 0}}}\n", true},
		{"a rate without a span", agent + "limits: {tenant: {requests: '100'}}\n", false},
		{"a rate of bytes for one of numbers", agent + "limits: {tenant: {runs: 1MiB/s}}\n", false},
		{"a size in words", agent + "limits: {body: 3 apples}\n", false},
		{"a value alone for its keys", agent + "inspector: off\n", true},
		{"another value for those keys", agent + "inspector: sometimes\n", false},
		{"a text for a number", "agents: {a: {url: 'http://127.0.0.1:1', retries: few}}\n", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var value any
			if err := yaml.Unmarshal([]byte(tt.file), &value); err != nil {
				t.Fatal(err)
			}
			if err := compiled.Validate(value); (err == nil) != tt.fine {
				t.Errorf("the schema says: %v", err)
			}
			if _, problems := loadText(t, tt.file, Options{Environ: []string{"KEY=0123456789abcdef"}, Dialects: []string{"taskstep", "threadrun"}}); (problems == "") != tt.fine {
				t.Errorf("Load says: %q", problems)
			}
		})
	}
}

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", parsed); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}
