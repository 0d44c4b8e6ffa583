package itemquery

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

// Limits of the texts of an item that become vectors: a text beyond vectorTextsMost is left out, and of a longer text
// its beginning counts. Models read a few thousand words at most.
const (
	vectorTextsMost    = 256
	vectorTextMostSize = 32 << 10
)

// sortedMost is the longest value whose keys are sorted: to sort them it is decoded, which takes many times its length.
const sortedMost = 1 << 20

// VectorTexts returns the texts of an item's value that vectors are made of, in order: one for each value that the
// index's paths name (ItemPath), or where the index is absent or null those of fields. A string is its own text, a
// number or boolean as JSON writes it, a list or object is JSON with sorted keys; null and what is blank is none.
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
		text, _ := rawjson.Text(at)
		return VectorTextCut(text)
	case '{', '[':
		return VectorTextCut(sorted(at))
	}
	return string(rawjson.Trim(at))
}

// VectorTextCut returns the beginning of a text that a vector is made of, without what is no UTF-8.
func VectorTextCut(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), vectorTextMostSize)], "")
}

// sorted is JSON with the keys of all objects in order, and else as it stands.
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
