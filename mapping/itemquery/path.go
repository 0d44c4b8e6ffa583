package itemquery

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// Limits of an index of paths. Each path is searched in the whole value.
const (
	pathsMost    = 100
	pathMostSize = 1000
)

// ItemPath names parts of an item's value as LangGraph's stores do (langgraph/store/base/embed.py, get_text_at_path):
// names separated by dots, [n] for an element (negative n from the end), [*] or * for all elements or members, and at
// the end {a,b.c} for several members. The empty path, and "$", is the whole value.
type ItemPath struct {
	parts []string   // a name, *, or a number for an element
	last  [][]string // the paths in the braces at its end
}

var (
	errPathLong     = fmt.Errorf("is longer than %d bytes", pathMostSize)
	errPathBracket  = errors.New("has an unclosed bracket, or a bracket that names no element")
	errPathBrace    = errors.New("has a brace that is not closed or not at the end")
	errPathSelected = errors.New("has something other than names separated by dots between its braces")
)

// ParseItemPath reads a path. The error text completes a sentence that begins with the path's name.
func ParseItemPath(text string) (p ItemPath, err error) {
	if len(text) > pathMostSize {
		return ItemPath{}, errPathLong
	}
	text, chosen, braces := strings.Cut(text, "{")
	if braces {
		if p.last, err = parseChosen(chosen); err != nil {
			return ItemPath{}, err
		}
	}
	if p.parts, err = parseParts(text); err != nil {
		return ItemPath{}, err
	}
	if len(p.parts) > 0 && p.parts[0] == "$" {
		p.parts = p.parts[1:]
	}
	return p, nil
}

// parseChosen reads the part after an opening brace. Duplicate names count once.
func parseChosen(text string) (paths [][]string, err error) {
	list, closed := strings.CutSuffix(text, "}")
	switch {
	case !closed || strings.ContainsAny(list, "{}"):
		return nil, errPathBrace
	case strings.ContainsAny(list, "[]*"):
		return nil, errPathSelected
	}
	for name := range strings.SplitSeq(list, ",") {
		path := names(strings.TrimSpace(name))
		if len(path) > 0 && !slices.ContainsFunc(paths, func(p []string) bool { return slices.Equal(p, path) }) {
			paths = append(paths, path)
		}
	}
	if len(paths) == 0 {
		return nil, errPathSelected
	}
	return paths, nil
}

// names splits a text at its dots.
func names(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == '.' })
}

func parseParts(text string) (parts []string, err error) {
	for text != "" {
		plain, rest, bracket := strings.Cut(text, "[")
		if strings.ContainsAny(plain, "]}") {
			return nil, errPathBracket
		}
		parts = append(parts, names(plain)...)
		if !bracket {
			break
		}
		element, after, closed := strings.Cut(rest, "]")
		if _, err := strconv.Atoi(element); !closed || err != nil && element != "*" {
			return nil, errPathBracket
		}
		parts, text = append(parts, element), after
	}
	return parts, nil
}

// each visits the values of the path until visit returns false.
func (p ItemPath) each(value json.RawMessage, visit func(json.RawMessage) bool) (more bool) {
	return eachAt(value, p.parts, func(at json.RawMessage) bool {
		if p.last == nil {
			return visit(at)
		}
		for _, path := range p.last {
			if !eachAt(at, path, visit) {
				return false
			}
		}
		return true
	})
}

func eachAt(value json.RawMessage, parts []string, visit func(json.RawMessage) bool) (more bool) {
	if len(parts) == 0 {
		return visit(value)
	}
	if rawjson.Kind(value) == '[' {
		return eachElementAt(value, parts, visit)
	}
	if parts[0] == "*" {
		return eachMemberAt(value, parts[1:], visit)
	}
	child := rawjson.Get(value, parts[0])
	return child == nil || eachAt(child, parts[1:], visit)
}

// eachElementAt visits the element of the first part, from the end if it is negative, or all elements.
func eachElementAt(value json.RawMessage, parts []string, visit func(json.RawMessage) bool) (more bool) {
	all := parts[0] == "*"
	n, err := strconv.Atoi(parts[0])
	if err != nil && !all {
		return true
	}
	if n < 0 {
		n += rawjson.CountElements(value)
	}
	at := -1
	return eachElement(value, func(element json.RawMessage) bool {
		at++
		return at != n && !all || eachAt(element, parts[1:], visit)
	})
}

func eachMemberAt(value json.RawMessage, parts []string, visit func(json.RawMessage) bool) (more bool) {
	more = true
	_ = rawjson.WalkObject(value, func(b []byte, i int, _ rawjson.Quoted) (int, bool) {
		end, ok := rawjson.Scan(b, i)
		more = !ok || eachAt(b[i:end:end], parts, visit)
		return end, ok && more
	})
	return more
}

// eachElement visits the elements of an array until visit returns false.
func eachElement(value json.RawMessage, visit func(json.RawMessage) bool) (more bool) {
	more = true
	_, _ = rawjson.ScanArray(value, rawjson.SkipSpace(value, 0), func(b []byte, i int) (int, bool) {
		end, ok := rawjson.Scan(b, i)
		more = !ok || visit(b[i:end:end])
		return end, ok && more
	})
	return more
}

// itemIndex is the index of a PUT: the default, nothing, or paths.
type itemIndex struct {
	standard bool
	paths    []ItemPath
}

// indexOf reads an index. An invalid path, which CheckItemIndex refuses, selects nothing.
func indexOf(index json.RawMessage) itemIndex {
	list, err := rawjson.Elements(index)
	switch {
	case string(rawjson.Trim(index)) == "false":
		return itemIndex{}
	case err != nil || rawjson.IsNull(index):
		return itemIndex{standard: true}
	}
	var out itemIndex
	for _, raw := range list[:min(len(list), pathsMost)] {
		if text, ok := rawjson.Text(raw); ok {
			if path, err := ParseItemPath(text); err == nil {
				out.paths = append(out.paths, path)
			}
		}
	}
	return out
}

// CheckItemIndex refuses an index with an invalid path, or with too many. It accepts anything that is not a list of
// strings.
func CheckItemIndex(index json.RawMessage) error {
	list := rawjson.ElementsOf(index)
	if len(list) > pathsMost {
		return mapping.InvalidAt("index", "has %d paths; at most %d are allowed", len(list), pathsMost)
	}
	for i, raw := range list {
		text := rawjson.TextOf(raw)
		if _, err := ParseItemPath(text); err != nil {
			return mapping.InvalidAt(fmt.Sprintf("index[%d]", i), "%v", err)
		}
	}
	return nil
}
