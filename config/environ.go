package config

import (
	"net/textproto"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

const envPrefix = "APBRIDGE_"

// naming is the spelling of the parts of a path.
type naming int

const (
	exact    naming = iota
	fromEnvs        // upper case, with underscores for hyphens
)

// ignored reports whether a variable has our prefix but does not set a key of the configuration. APBRIDGE_CONFIG names
// the file, APBRIDGE_URL and APBRIDGE_KEY are for commands, some are for tests, and Kubernetes sets APBRIDGE_PORT and
// APBRIDGE_SERVICE_… for a service called apbridge.
func ignored(name string) bool {
	switch name {
	case "CONFIG", "URL", "KEY", "SPECS", "PORT", "BENCH", "E2E":
		return true
	}
	for _, p := range []string{"TEST_", "PORT_", "SERVICE_"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

func (l *loader) readEnviron(environ []string) {
	for _, entry := range slices.Sorted(slices.Values(environ)) {
		full, value, _ := strings.Cut(entry, "=")
		name, ours := strings.CutPrefix(full, envPrefix)
		if !ours || value == "" || ignored(name) {
			continue
		}
		path := strings.Split(strings.ToLower(name), "__")
		l.put(path, value, place{name: "environment " + full}, fromEnvs)
	}
}

// put sets the key at path from text.
func (l *loader) put(path []string, text string, from place, how naming) {
	p := putter{decoder: decoder{report: l.report, from: from}, text: text, how: how}
	p.put("", path, reflect.ValueOf(l.cfg).Elem())
}

type putter struct {
	decoder
	text string
	how  naming
}

func (p putter) put(key string, path []string, v reflect.Value) {
	switch {
	case len(path) == 0:
		p.decode(key, p.node(key, v), v)
	case v.Kind() == reflect.Struct:
		p.putField(key, path, v)
	case v.Kind() == reflect.Map:
		p.putEntry(key, path, v)
	default:
		p.add(p.from.problem(join(key, path[0]), "%s has no keys below it", key))
	}
}

func (p putter) putField(key string, path []string, v reflect.Value) {
	field := fieldByName(v, path[0])
	if !field.IsValid() {
		p.add(p.from.problem(join(key, path[0]), "there is no such key; %s", suggestKey(key, path[0], fieldNames(v.Type()))))
		return
	}
	p.put(join(key, path[0]), path[1:], field)
}

func (p putter) putEntry(key string, path []string, v reflect.Value) {
	name := path[0]
	if p.how == fromEnvs {
		name = entryName(v, name)
	}
	elem := mapElem(v, name)
	if _, known := p.places[join(key, name)]; !known {
		p.places[join(key, name)] = p.from
	}
	p.put(join(key, name), path[1:], elem)
	v.SetMapIndex(reflect.ValueOf(name), elem)
}

// entryName returns the name of the map entry that a variable sets: an existing one with that spelling, or a new one.
// New headers get their usual form.
func entryName(v reflect.Value, name string) string {
	if v.MapIndex(reflect.ValueOf(name)).IsValid() {
		return name
	}
	for _, k := range v.MapKeys() {
		if strings.ReplaceAll(strings.ToLower(k.String()), "-", "_") == name {
			return k.String()
		}
	}
	if v.Type().Elem() == secretType {
		return textproto.CanonicalMIMEHeaderKey(strings.ReplaceAll(name, "_", "-"))
	}
	return name
}

// node parses the text for the key. A scalar is taken verbatim. A list may be separated by commas. Lists and objects
// may be JSON.
func (p putter) node(key string, v reflect.Value) *yaml.Node {
	scalar := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: p.text}
	text := strings.TrimSpace(p.text)
	switch v.Kind() {
	case reflect.Struct, reflect.Map, reflect.Slice:
	default:
		return scalar
	}
	if strings.HasPrefix(text, "[") || strings.HasPrefix(text, "{") {
		return p.parse(key, text)
	}
	if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.String {
		return commaList(text)
	}
	return scalar
}

func (p putter) parse(key, text string) *yaml.Node {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil || len(doc.Content) == 0 {
		// The parser's message could quote a secret.
		p.add(p.from.problem(key, "is not valid JSON"))
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
	}
	return doc.Content[0]
}

func commaList(text string) *yaml.Node {
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			list.Content = append(list.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: item})
		}
	}
	return list
}
