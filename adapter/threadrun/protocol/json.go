package protocol

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

// member returns a member of an object, or nil if it is absent or null.
func member(object json.RawMessage, name string) json.RawMessage {
	v := rawjson.Get(object, name)
	if rawjson.Kind(v) == 'n' {
		return nil
	}
	return v
}

// textsOf reads a list of strings. It returns false for anything else.
func textsOf(v json.RawMessage) ([]string, bool) {
	if rawjson.Kind(v) != '[' {
		return nil, false
	}
	list := []string{}
	for _, e := range rawjson.ElementsOf(v) {
		if rawjson.Kind(e) != '"' {
			return nil, false
		}
		list = append(list, rawjson.Unquote(e))
	}
	return list, true
}

// largest is JavaScript's Number.MAX_SAFE_INTEGER.
const largest = 1<<53 - 1

// whole reads a non-negative whole number, which may be written as 3.0.
func whole(v json.RawMessage) (int64, bool) {
	digits, rest, _ := strings.Cut(string(v), ".")
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, err == nil && n >= 0 && n <= largest && strings.Trim(rest, "0") == ""
}
