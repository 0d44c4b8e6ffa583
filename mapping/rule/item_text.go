package rule

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

// ItemTexts are the texts of an item's value that a text search looks at: of
// all strings and numbers in it, or where index is a list of paths, of those
// below the paths; none where index is false. A path is names and [n] or [*]
// joined by dots, as in "a.b[*].c"; "$" is the whole value (the index of the
// LangGraph SDKs' store.putItem).
func ItemTexts(value, index json.RawMessage) (texts []string) {
	paths, err := rawjson.Elements(index)
	switch {
	case string(rawjson.Trim(index)) == "false":
		return nil
	case err != nil || rawjson.IsNull(index):
		return appendTexts(nil, value)
	}
	for _, raw := range paths {
		if path, ok := rawjson.Text(raw); ok {
			for _, found := range atPath(value, pathParts(path)) {
				texts = appendTexts(texts, found)
			}
		}
	}
	return texts
}

// pathParts reads a.b[*].c as a, b, *, c.
func pathParts(path string) []string {
	path = strings.NewReplacer("[", ".", "]", "").Replace(path)
	return strings.FieldsFunc(path, func(r rune) bool { return r == '.' })
}

func atPath(value json.RawMessage, parts []string) []json.RawMessage {
	if len(parts) == 0 || parts[0] == "$" {
		return []json.RawMessage{value}
	}
	var found []json.RawMessage
	for _, child := range children(value, parts[0]) {
		found = append(found, atPath(child, parts[1:])...)
	}
	return found
}

func children(value json.RawMessage, part string) []json.RawMessage {
	if rawjson.Kind(value) != '[' {
		if child := rawjson.Get(value, part); child != nil {
			return []json.RawMessage{child}
		}
		return nil
	}
	list, _ := rawjson.Elements(value)
	if part == "*" {
		return list
	}
	n, err := strconv.Atoi(part)
	if n < 0 {
		n += len(list)
	}
	if err != nil || n < 0 || n >= len(list) {
		return nil
	}
	return list[n : n+1]
}

// appendTexts adds the strings and numbers in a value.
func appendTexts(texts []string, value json.RawMessage) []string {
	switch rawjson.Kind(value) {
	case '{':
		list, _ := rawjson.Members(value)
		for _, m := range list {
			texts = appendTexts(texts, m.Value)
		}
	case '[':
		list, _ := rawjson.Elements(value)
		for _, e := range list {
			texts = appendTexts(texts, e)
		}
	default:
		if text := scalarText(value); text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}
