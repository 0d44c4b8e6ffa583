package inspect

import (
	"encoding/json"
	"strconv"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

type changeKind string

const (
	added   changeKind = "added"
	removed changeKind = "removed"
	changed changeKind = "changed"
)

// change is one difference between two JSON values. before is nil if the value was added, and after is nil if it was
// removed.
type change struct {
	path          string // names and indices joined by dots; "" for the whole value
	kind          changeKind
	before, after json.RawMessage
}

// maxDepth is the depth to which values are compared. A deeper difference is reported as one change.
const maxDepth = 24

// difference lists at most most changes, in the order of after. more reports whether there are more. Elements of lists
// are compared by id if all have one, so that a new first message is one addition.
func difference(before, after json.RawMessage, most int) (list []change, more bool) {
	c := comparison{most: most}
	c.compare("", before, after, maxDepth)
	return c.list, c.more
}

type comparison struct {
	list []change
	most int
	more bool
}

func (c *comparison) note(path string, kind changeKind, before, after json.RawMessage) {
	if len(c.list) >= c.most {
		c.more = true
		return
	}
	c.list = append(c.list, change{path, kind, before, after})
}

func (c *comparison) compare(path string, before, after json.RawMessage, depth int) {
	if c.more || rawjson.Equal(before, after) {
		return
	}
	switch kind := rawjson.Kind(after); {
	case depth == 0 || kind != rawjson.Kind(before):
		c.note(path, changed, before, after)
	case kind == '{':
		c.members(path, membersOf(before), membersOf(after), depth)
	case kind == '[':
		was, is := elements(before, after)
		c.members(path, was, is, depth)
		if len(was.list) == len(is.list) && reordered(was, is) {
			c.note(path, changed, before, after)
		}
	default:
		c.note(path, changed, before, after)
	}
}

// reordered reports whether two lists have the same names in another order.
func reordered(was, is parts) bool {
	moved := false
	for i, m := range is.list {
		if _, there := was.at[m.Name]; !there {
			return false
		}
		moved = moved || was.list[i].Name != m.Name
	}
	return moved
}

// parts are the members of an object, or the elements of a list named by id or index.
type parts struct {
	list []rawjson.Member
	at   map[string]json.RawMessage
}

func partsOf(list []rawjson.Member) parts {
	p := parts{list: list, at: make(map[string]json.RawMessage, len(list))}
	for _, m := range list {
		p.at[m.Name] = m.Value
	}
	return p
}

func membersOf(b json.RawMessage) parts {
	list, _ := rawjson.Members(b)
	return partsOf(list)
}

// elements names the elements of both lists by id if the ids in each list are unique, or else by index.
func elements(before, after json.RawMessage) (was, is parts) {
	was, ok := byID(before)
	if is, also := byID(after); ok && also {
		return was, is
	}
	return byIndex(before), byIndex(after)
}

func byID(b json.RawMessage) (p parts, ok bool) {
	elems, _ := rawjson.Elements(b)
	list := make([]rawjson.Member, len(elems))
	for i, e := range elems {
		list[i] = rawjson.Member{Name: rawjson.GetText(e, "id"), Value: e}
	}
	p = partsOf(list)
	_, nameless := p.at[""]
	return p, !nameless && len(p.at) == len(list)
}

func byIndex(b json.RawMessage) parts {
	elems, _ := rawjson.Elements(b)
	list := make([]rawjson.Member, len(elems))
	for i, e := range elems {
		list[i] = rawjson.Member{Name: strconv.Itoa(i), Value: e}
	}
	return partsOf(list)
}

func (c *comparison) members(path string, was, is parts, depth int) {
	for _, m := range is.list {
		old, there := was.at[m.Name]
		if !there {
			c.note(joinPath(path, m.Name), added, nil, m.Value)
			continue
		}
		c.compare(joinPath(path, m.Name), old, m.Value, depth-1)
	}
	for _, m := range was.list {
		if _, there := is.at[m.Name]; !there {
			c.note(joinPath(path, m.Name), removed, m.Value, nil)
		}
	}
}

func joinPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
