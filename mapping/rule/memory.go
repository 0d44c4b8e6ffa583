package rule

import (
	"encoding/json"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// Limits on the name of an item. LangGraph documents none. Typical names consist of a user's id and a few words, so
// these limits are generous.
const (
	MostLabels = 32   // of a namespace
	LabelBytes = 256  // of a label
	KeyBytes   = 1024 // of a key
)

// MostWrites is the maximum number of items that one step may write. They are written in one transaction, which blocks
// the other writers of a SQLite file, and an item with many words takes 12 ms.
const MostWrites = 100

// CheckKey returns an *Error of class Invalid if an item cannot have this key.
func CheckKey(key string) error {
	if key == "" {
		return mapping.InvalidAt("key", "must not be empty")
	}
	if len(key) > KeyBytes {
		return mapping.InvalidAt("key", "has %d bytes; at most %d are allowed", len(key), KeyBytes)
	}
	if !mapping.IsText(key) {
		return mapping.InvalidAt("key", "must be UTF-8 without U+0000")
	}
	return nil
}

// CheckNamespace returns an *Error of class Invalid if an item cannot have this namespace. It refuses the root, a label
// that is empty, contains a dot or is too long, and too many labels.
func CheckNamespace(ns []string) error {
	if len(ns) == 0 {
		return mapping.InvalidAt("namespace", "an item needs a namespace of at least one label")
	}
	if len(ns) > MostLabels {
		return mapping.InvalidAt("namespace", "has %d labels; at most %d are allowed", len(ns), MostLabels)
	}
	for _, label := range ns {
		if label == "" || strings.Contains(label, ".") {
			return mapping.InvalidAt("namespace", "the label %.64q is not allowed; labels must not be empty or contain dots", label)
		}
		if len(label) > LabelBytes {
			return mapping.InvalidAt("namespace", "a label has %d bytes; at most %d are allowed", len(label), LabelBytes)
		}
		if !mapping.IsText(label) {
			return mapping.InvalidAt("namespace", "labels must be UTF-8 without U+0000")
		}
	}
	return nil
}

// MatchNamespace reports whether ns begins with prefix and ends with suffix, label by label. "*" matches any single
// label. Prefix and suffix may overlap.
func MatchNamespace(ns, prefix, suffix []string) bool {
	if len(prefix) > len(ns) || len(suffix) > len(ns) {
		return false
	}
	return matchLabels(ns[:len(prefix)], prefix) && matchLabels(ns[len(ns)-len(suffix):], suffix)
}

func matchLabels(labels, pattern []string) bool {
	for i, p := range pattern {
		if p != "*" && p != labels[i] {
			return false
		}
	}
	return true
}

// TemplateValues are the values for names in a template of memory.namespaces.
type TemplateValues struct {
	Metadata     json.RawMessage // of the thread
	Configurable json.RawMessage // config.configurable of the request
	Principal    string          // the id of the key of the run's caller, or ""
}

// ExpandNamespace expands a template of memory.namespaces, which has labels separated by "/". {metadata.key} and
// {configurable.key} are replaced by a string or number from these objects, {key} by one from either, configurable
// first, and {principal.id} by the id of the principal. If a value is missing or the result is not a namespace, ok is
// false and nothing is remembered.
func ExpandNamespace(template string, values TemplateValues) (ns []string, ok bool) {
	for label := range strings.SplitSeq(template, "/") {
		label, ok := values.expand(label)
		if !ok {
			return nil, false
		}
		ns = append(ns, label)
	}
	return ns, CheckNamespace(ns) == nil
}

func (v TemplateValues) expand(label string) (string, bool) {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(label, "{")
		out.WriteString(before)
		if !found {
			return out.String(), true
		}
		name, after, closed := strings.Cut(rest, "}")
		val := v.of(name)
		if !closed || val == "" {
			return "", false
		}
		out.WriteString(val)
		label = after
	}
}

func (v TemplateValues) of(name string) string {
	if name == "principal.id" {
		return v.Principal
	}
	if key, ok := strings.CutPrefix(name, "metadata."); ok {
		return rawjson.ScalarText(rawjson.Get(v.Metadata, key))
	}
	if key, ok := strings.CutPrefix(name, "configurable."); ok {
		return rawjson.ScalarText(rawjson.Get(v.Configurable, key))
	}
	if text := rawjson.ScalarText(rawjson.Get(v.Configurable, name)); text != "" {
		return text
	}
	return rawjson.ScalarText(rawjson.Get(v.Metadata, name))
}

// MemoryWrite is a change of the store that a task/step agent requests.
type MemoryWrite struct {
	Namespace []string
	Key       string
	Value     json.RawMessage // an object, or nil to delete the item
}

// MemoryWrites reads additional_output.memory of a step: a list of {namespace, key, value}, where a null value deletes
// the item. If memory is missing, the list is empty. If an entry is invalid, it returns an *Error of class Invalid, and
// no entry may be written.
func MemoryWrites(additional json.RawMessage) ([]MemoryWrite, error) {
	memory := rawjson.Get(additional, "memory")
	if rawjson.IsNull(memory) {
		return nil, nil
	}
	list, err := rawjson.Elements(memory)
	if err != nil {
		return nil, mapping.InvalidAt("additional_output.memory", "must be a list of {namespace, key, value}")
	}
	if len(list) > MostWrites {
		return nil, mapping.InvalidAt("additional_output.memory", "has %d changes; at most %d are allowed", len(list), MostWrites)
	}
	out := make([]MemoryWrite, len(list))
	for i, e := range list {
		if out[i], err = memoryWrite(e); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func memoryWrite(e json.RawMessage) (MemoryWrite, error) {
	var w MemoryWrite
	labels := rawjson.ElementsOf(rawjson.Get(e, "namespace"))
	for _, label := range labels {
		text, ok := rawjson.Text(label)
		if !ok {
			return w, mapping.InvalidAt("additional_output.memory", "labels of a namespace must be strings")
		}
		w.Namespace = append(w.Namespace, text)
	}
	if err := CheckNamespace(w.Namespace); err != nil {
		return w, err
	}
	if w.Key = rawjson.GetText(e, "key"); w.Key == "" {
		return w, mapping.InvalidAt("additional_output.memory", "an item needs a key")
	}
	if err := CheckKey(w.Key); err != nil {
		return w, err
	}
	switch val := rawjson.Get(e, "value"); {
	case val == nil:
		return w, mapping.InvalidAt("additional_output.memory", "an item needs a value; null deletes it")
	case rawjson.Kind(val) == '{':
		w.Value = val
	case !rawjson.IsNull(val):
		return w, mapping.InvalidAt("additional_output.memory", "the value of an item must be an object")
	}
	return w, nil
}
