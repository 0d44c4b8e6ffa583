package protocol

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// kindOf is the first byte of a value: one of { [ " 0 t f n, or 0 for none.
func kindOf(v json.RawMessage) byte {
	if len(v) == 0 {
		return 0
	}
	if v[0] == '-' || v[0] >= '0' && v[0] <= '9' {
		return '0'
	}
	return v[0]
}

// member is a member of an object; nil when it is absent or null.
func member(object json.RawMessage, name string) json.RawMessage {
	v := mapping.Sent(object, name)
	if kindOf(v) == 'n' {
		return nil
	}
	return v
}

// textOf is a string's text; "" of what is none.
func textOf(v json.RawMessage) string {
	if kindOf(v) != '"' {
		return ""
	}
	return rawjson.Unquote(v)
}

// elements splits a list; nil of what is none.
func elements(list json.RawMessage) (out []json.RawMessage) {
	if mapping.EachElement(list, func(e json.RawMessage) { out = append(out, e) }) != nil {
		return nil
	}
	return out
}

// textsOf is a list of strings; false of anything else.
func textsOf(v json.RawMessage) ([]string, bool) {
	if kindOf(v) != '[' {
		return nil, false
	}
	list := []string{}
	for _, e := range elements(v) {
		if kindOf(e) != '"' {
			return nil, false
		}
		list = append(list, rawjson.Unquote(e))
	}
	return list, true
}

// largest is the largest whole number that JavaScript tells from its neighbours.
const largest = 1<<53 - 1

// whole reads a whole number that is not negative, also written as 3.0.
func whole(v json.RawMessage) (int64, bool) {
	digits, rest, _ := strings.Cut(string(v), ".")
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, err == nil && n >= 0 && n <= largest && strings.Trim(rest, "0") == ""
}
