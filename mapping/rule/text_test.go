package rule

import (
	"encoding/json"
	"testing"

	"github.com/apbridge/apbridge/mapping"
)

func TestText(t *testing.T) {
	t.Parallel()
	for s, kept := range map[string]string{
		"": "", "é\U0001F600": "é\U0001F600", "\uFFFD": "\uFFFD", "\U0010FFFF00": "\U0010FFFF00", "\x01\n\x7f": "\x01\n\x7f",
		"\x00": "\uFFFD", "a\x00b": "a\uFFFDb", "\xff": "\uFFFD", "a\xc3": "a\uFFFD", "\xed\xa0\x80": "\uFFFD", "\xf4\x90\x80\x80": "\uFFFD",
	} {
		if got := mapping.IsText(s); got != (s == kept) {
			t.Errorf("IsText(%q) = %t", s, got)
		}
		if got := mapping.ToText(s); got != kept || !mapping.IsText(got) {
			t.Errorf("ToText(%q) = %q, want %q", s, got, kept)
		}
	}
}

// All names of items and files are valid texts.
func TestNamesAreText(t *testing.T) {
	t.Parallel()
	for what, err := range map[string]error{
		"key":              CheckKey("a\x00"),
		"label":            CheckNamespace([]string{"a", "\x00"}),
		"file":             (&Input{Files: map[string]json.RawMessage{"a\x00": []byte(`"x"`)}}).CheckFiles(),
		"mimeType":         (&Input{Files: map[string]json.RawMessage{"a": []byte(`{"content":"x","mimeType":"a\u0000"}`)}}).CheckFiles(),
		"memory":           second(MemoryWrites([]byte(`{"memory":[{"namespace":["a"],"key":"\u0000","value":{}}]}`))),
		"a memory's label": second(MemoryWrites([]byte(`{"memory":[{"namespace":["\u0000"],"key":"k","value":{}}]}`))),
	} {
		if e := mapping.Classify(err); err == nil || e.Class != mapping.Invalid {
			t.Errorf("%s: got %v", what, err)
		}
	}
	if err := (&Input{Files: map[string]json.RawMessage{"a": []byte(`{"content":"x\u0000","mimeType":"text/plain"}`)}}).CheckFiles(); err != nil {
		t.Errorf("in a file: %v", err)
	}
	if _, err := MemoryWrites([]byte(`{"memory":[{"namespace":["a"],"key":"k","value":{"a":"\u0000"}}]}`)); err != nil {
		t.Errorf("an item's value: %v", err)
	}
	if _, ok := ExpandNamespace("users/{id}", TemplateValues{Metadata: []byte(`{"id":"\u0000"}`)}); ok {
		t.Error("a template yields a namespace that no item can have")
	}
}

func second[T any](_ T, err error) error { return err }
