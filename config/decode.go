package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// decoder decodes a YAML tree into the configuration. It continues after problems and reports them.
type decoder struct {
	*report
	from  place
	lines bool // the nodes' lines are meaningful
}

var (
	durationType = reflect.TypeFor[time.Duration]()
	bytesType    = reflect.TypeFor[Bytes]()
	secretType   = reflect.TypeFor[Secret]()
	agentType    = reflect.TypeFor[Agent]()
	issuerType   = reflect.TypeFor[JWT]()
	rateType     = reflect.TypeFor[Rate]()
	byteRateType = reflect.TypeFor[ByteRate]()
)

func (d decoder) at(n *yaml.Node) place {
	p := d.from
	if d.lines {
		p.line = n.Line
	}
	return p
}

func (d decoder) problem(n *yaml.Node, key, format string, args ...any) {
	d.add(d.at(n).problem(key, format, args...))
}

// decode sets v from n. A null keeps the default.
func (d decoder) decode(key string, n *yaml.Node, v reflect.Value) {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	d.places[key] = d.at(n)
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.decodeStruct(key, n, v)
	case reflect.Map:
		d.decodeMap(key, n, v)
	case reflect.Slice:
		d.decodeList(key, n, v)
	default:
		d.decodeScalar(key, n, v)
	}
}

func (d decoder) decodeStruct(key string, n *yaml.Node, v reflect.Value) {
	if field := aloneIn(v); n.Kind == yaml.ScalarNode && field.IsValid() {
		d.decodeScalar(key, n, field)
		return
	}
	if n.Kind != yaml.MappingNode {
		if hint := misplaced(key, n, fieldNames(v.Type())); hint != "" {
			d.problem(n, key, "%s", hint)
			return
		}
		d.problem(n, key, "must have keys with values (%s), not %s", suggest("", fieldNames(v.Type())), kindName(n))
		return
	}
	d.eachPair(key, n, func(k, value *yaml.Node) {
		field := fieldByName(v, k.Value)
		if !field.IsValid() {
			d.problem(k, join(key, k.Value), "there is no such key; %s", suggestKey(key, k.Value, fieldNames(v.Type())))
			return
		}
		d.decode(join(key, k.Value), value, field)
	})
}

// misplaced describes the probable mistake if there is a single value in place of keys, or returns "". Either a colon
// lacks a space, or the value is a key in the same column as the names above it.
func misplaced(key string, n *yaml.Node, fields []string) string {
	if n.Kind != yaml.ScalarNode {
		return ""
	}
	if name, value, ok := strings.Cut(n.Value, ":"); ok && slices.Contains(fields, name) && value != "" {
		return fmt.Sprintf("has no space after a colon; write %s: %s", name, value)
	}
	above, name, _ := cutLast(key, ".")
	if slices.Contains(fields, name) {
		return fmt.Sprintf("is not a name in %s; indent it further, below the name that it belongs to", above)
	}
	return ""
}

// cutLast is strings.Cut at the last separator.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// aloneIn returns the field of a struct that a single value in place of the struct sets, which is marked by the tag
// alone. It returns the zero Value if there is none.
func aloneIn(v reflect.Value) reflect.Value {
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("alone") != "" {
			return v.Field(i)
		}
	}
	return reflect.Value{}
}

func (d decoder) decodeMap(key string, n *yaml.Node, v reflect.Value) {
	if n.Kind != yaml.MappingNode {
		d.problem(n, key, "must have names with values, not %s", kindName(n))
		return
	}
	d.eachPair(key, n, func(k, value *yaml.Node) {
		elem := mapElem(v, k.Value)
		d.places[join(key, k.Value)] = d.at(k)
		d.decode(join(key, k.Value), value, elem)
		if elem.Kind() == reflect.Struct && value.Kind == yaml.ScalarNode && slices.Contains(fieldNames(elem.Type()), k.Value) {
			return // a misplaced value is not an element and was already reported
		}
		v.SetMapIndex(reflect.ValueOf(k.Value), elem)
	})
}

// eachPair visits the pairs of a mapping with plain and unique keys.
func (d decoder) eachPair(key string, n *yaml.Node, visit func(k, value *yaml.Node)) {
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		switch first, twice := seen[k.Value]; {
		case k.Kind != yaml.ScalarNode:
			d.problem(k, key, "a key must be a plain word, not %s", kindName(k))
		case k.Tag == "!!merge":
			d.problem(k, key, "merge keys (<<) are not supported; write the keys out")
		case twice && d.lines:
			d.problem(k, join(key, k.Value), "is written twice, first in line %d; keep one", first)
		case twice:
			d.problem(k, join(key, k.Value), "is written twice; keep one")
		default:
			seen[k.Value] = k.Line
			visit(k, n.Content[i+1])
		}
	}
}

func (d decoder) decodeList(key string, n *yaml.Node, v reflect.Value) {
	if n.Kind != yaml.SequenceNode {
		d.problem(n, key, "must be a list such as [a, b], not %s", kindName(n))
		return
	}
	list := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, item := range n.Content {
		if list.Index(i).Type() == issuerType {
			list.Index(i).Set(reflect.ValueOf(defaultJWT()))
		}
		d.decode(fmt.Sprintf("%s[%d]", key, i), item, list.Index(i))
	}
	v.Set(list)
}

func (d decoder) decodeScalar(key string, n *yaml.Node, v reflect.Value) {
	if n.Kind != yaml.ScalarNode {
		d.problem(n, key, "must be %s, not %s", wanted(v.Type()), kindName(n))
		return
	}
	if err := setScalar(v, n.Value); err != nil {
		d.problem(n, key, "must be %s, not %q", wanted(v.Type()), n.Value)
	}
}

func setScalar(v reflect.Value, text string) error {
	switch {
	case v.Type() == durationType:
		return store(v, text, parseDuration)
	case v.Type() == bytesType:
		return store(v, text, parseBytes)
	case v.Type() == rateType:
		return store(v, text, parseRate)
	case v.Type() == byteRateType:
		return store(v, text, parseByteRate)
	case v.Kind() == reflect.Bool:
		return store(v, text, parseBool)
	case v.Kind() == reflect.Int:
		return store(v, text, strconv.Atoi)
	default:
		v.SetString(text)
		return nil
	}
}

func store[T any](v reflect.Value, text string, parse func(string) (T, error)) error {
	x, err := parse(text)
	if err == nil {
		v.Set(reflect.ValueOf(x))
	}
	return err
}

func wanted(t reflect.Type) string {
	switch {
	case t == durationType:
		return "a duration such as 30s, 10m, 168h or 7d"
	case t == bytesType:
		return "a size such as 64KiB, 16MiB or 1GiB"
	case t == rateType:
		return "a rate such as 100/s, 10/m, 500/h or 5000/d"
	case t == byteRateType:
		return "a rate such as 10MiB/s or 5GiB/d"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.Int:
		return "a whole number"
	default:
		return "text"
	}
}

func kindName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "keys with values"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	default:
		return "a single value"
	}
}

// mapElem returns a settable copy of v[name], or a new default.
func mapElem(v reflect.Value, name string) reflect.Value {
	elem := reflect.New(v.Type().Elem()).Elem()
	if old := v.MapIndex(reflect.ValueOf(name)); old.IsValid() {
		elem.Set(old)
	} else if elem.Type() == agentType {
		elem.Set(reflect.ValueOf(DefaultAgent()))
	}
	return elem
}

func fieldByName(v reflect.Value, name string) reflect.Value {
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("yaml") == name {
			return v.Field(i)
		}
	}
	return reflect.Value{}
}

func fieldNames(t reflect.Type) []string {
	names := make([]string, t.NumField())
	for i := range names {
		names[i] = t.Field(i).Tag.Get("yaml")
	}
	return names
}

func join(key, name string) string {
	if key == "" {
		return name
	}
	return strings.Join([]string{key, name}, ".")
}
