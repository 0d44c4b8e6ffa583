package itemquery

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

// Limits of the texts of an item that become vectors. Texts beyond vectorTextsMost, and the rest of a longer text, are
// ignored. Models read a few thousand words at most.
const (
	vectorTextsMost    = 256
	vectorTextMostSize = 32 << 10
)

// sortedMost is the maximum length of a value whose keys are sorted, because sorting decodes it, which takes many times
// its length.
const sortedMost = 1 << 20

// VectorTexts returns the texts of an item's value for vectors, in order: one for each value at the index's paths
// (ItemPath), or at those of fields if the index is absent or null. A string is its own text, a number or boolean is
// its JSON, a list or object is JSON with sorted keys. null and blank strings have none.
func VectorTexts(value, index json.RawMessage, fields []ItemPath) (texts []string) {
	of := indexOf(index)
	if of.standard {
		of.paths = fields
	}
	for _, path := range of.paths {
		path.each(value, func(at json.RawMessage) bool {
			if text := vectorText(at); strings.TrimSpace(text) != "" {
				texts = append(texts, text)
			}
			return len(texts) < vectorTextsMost
		})
		if len(texts) == vectorTextsMost {
			break
		}
	}
	return texts
}

func vectorText(at json.RawMessage) string {
	switch rawjson.Kind(at) {
	case 'n':
		return ""
	case '"':
		text := rawjson.TextOf(at)
		return VectorTextCut(text)
	case '{', '[':
		return VectorTextCut(sorted(at))
	}
	return string(rawjson.Trim(at))
}

// VectorTextCut returns the part of a text that a vector represents, as valid UTF-8.
func VectorTextCut(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), vectorTextMostSize)], "")
}

// sorted returns JSON with the keys of all objects in order, or raw if it is too long.
func sorted(raw json.RawMessage) string {
	if len(raw) > sortedMost {
		return string(raw[:vectorTextMostSize+1])
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return string(raw)
	}
	if out, err := rawjson.Encode(v); err == nil {
		return string(out)
	}
	return string(raw)
}
