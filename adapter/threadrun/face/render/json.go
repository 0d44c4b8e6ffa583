package render

import (
	"encoding/json"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

// elements splits an array; nil of what is none.
func elements(raw json.RawMessage) []json.RawMessage {
	list, err := rawjson.Elements(raw)
	if err != nil {
		return nil
	}
	return list
}

// text decodes a string; "" of what is none.
func text(v json.RawMessage) string {
	if rawjson.Kind(v) != '"' {
		return ""
	}
	return rawjson.Unquote(v)
}
