// Package difference lists the differences of two JSON values for people: each value that was added, removed or
// changed, with its place. Package inspect shows it. Lists of things with an id, as messages have one, are compared by
// it, so that one message in front of all others is one addition. It knows no state and makes no HTML.
package difference

import (
	"encoding/json"
	"strconv"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

// Kind is what happened at a place.
type Kind string

const (
	Added   Kind = "added"
	Removed Kind = "removed"
	Changed Kind = "changed"
)

// Change is one difference. Before of what was added, and After of what was removed, is nil.
type Change struct {
	Path   string          `json:"path"` // names and indices with dots between them; "": the whole value
	Kind   Kind            `json:"kind"`
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
}

// depth is how far into values is looked: what differs further in is one change.
const depth = 24

// Of lists how after differs from before, in the order of after. more reports whether there are more differences than
// most.
func Of(before, after json.RawMessage, most int) (list []Change, more bool) {
	c := comparison{most: most}
	c.compare("", before, after, depth)
	return c.list, c.more
}

type comparison struct {
	list []Change
	most int
	more bool
}

func (c *comparison) note(path string, kind Kind, before, after json.RawMessage) {
	if len(c.list) >= c.most {
		c.more = true
		return
	}
	c.list = append(c.list, Change{path, kind, before, after})
}

func (c *comparison) compare(path string, before, after json.RawMessage, depth int) {
	if c.more || rawjson.Equal(before, after) {
		return
	}
	switch kind := rawjson.Kind(after); {
	case depth == 0 || kind != rawjson.Kind(before):
		c.note(path, Changed, before, after)
	case kind == '{':
		c.members(path, named(before), named(after), depth)
	case kind == '[':
		was, is := elements(before, after)
		c.members(path, was, is, depth)
		if len(was.list) == len(is.list) && reordered(was, is) {
			c.note(path, Changed, before, after)
		}
	default:
		c.note(path, Changed, before, after)
	}
}

// reordered reports whether two lists have the same ids in another order.
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

// parts are the members of an object, or the elements of a list by id or index.
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

func named(b json.RawMessage) parts {
	list, _ := rawjson.Members(b)
	return partsOf(list)
}

// elements are those of two lists, named by their ids where each has one of its own in its list, else by their indices.
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
			c.note(join(path, m.Name), Added, nil, m.Value)
			continue
		}
		c.compare(join(path, m.Name), old, m.Value, depth-1)
	}
	for _, m := range was.list {
		if _, there := is.at[m.Name]; !there {
			c.note(join(path, m.Name), Removed, m.Value, nil)
		}
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
