package check

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Shape is a schema. It returns a description of the fault of a JSON value at a path, or "".
type Shape func(v any, at string) string

// Members maps names to shapes.
type Members map[string]Shape

// Object returns the shape of an object with the required members. Optional members must fit if present. Any other
// members are allowed.
func Object(required, optional Members) Shape {
	return func(v any, at string) string {
		o, ok := v.(map[string]any)
		if !ok {
			return wants(at, "an object", v)
		}
		for _, name := range slices.Sorted(maps.Keys(required)) {
			member, there := o[name]
			if !there {
				return inside(at, name) + ": missing"
			}
			if wrong := required[name](member, inside(at, name)); wrong != "" {
				return wrong
			}
		}
		for _, name := range slices.Sorted(maps.Keys(optional)) {
			if member, there := o[name]; there {
				if wrong := optional[name](member, inside(at, name)); wrong != "" {
					return wrong
				}
			}
		}
		return ""
	}
}

func inside(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

// List returns the shape of a list.
func List(of Shape) Shape {
	return func(v any, at string) string {
		list, ok := v.([]any)
		if !ok {
			return wants(at, "a list", v)
		}
		for i, each := range list {
			if wrong := of(each, fmt.Sprintf("%s[%d]", at, i)); wrong != "" {
				return wrong
			}
		}
		return ""
	}
}

// OrNull returns a shape that also accepts null.
func OrNull(s Shape) Shape {
	return func(v any, at string) string {
		if v == nil {
			return ""
		}
		return s(v, at)
	}
}

// Either returns a shape that accepts a value if one of two shapes accepts it. Otherwise it returns the fault of the
// second shape.
func Either(one, other Shape) Shape {
	return func(v any, at string) string {
		if one(v, at) == "" {
			return ""
		}
		return other(v, at)
	}
}

// Any accepts everything.
func Any(any, string) string { return "" }

// Text accepts strings.
func Text(v any, at string) string {
	if _, ok := v.(string); !ok {
		return wants(at, "a text", v)
	}
	return ""
}

// Flag accepts true and false.
func Flag(v any, at string) string {
	if _, ok := v.(bool); !ok {
		return wants(at, "true or false", v)
	}
	return ""
}

// Integer accepts numbers without a fraction.
func Integer(v any, at string) string {
	if n, ok := v.(float64); !ok || n != float64(int64(n)) {
		return wants(at, "an integer", v)
	}
	return ""
}

var uuidForm = regexp.MustCompile(`^(?i)[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$`)

// UUID accepts UUIDs in their usual form.
func UUID(v any, at string) string {
	if s, ok := v.(string); !ok || !uuidForm.MatchString(s) {
		return wants(at, "a UUID", v)
	}
	return ""
}

// Time accepts a date-time of RFC 3339.
func Time(v any, at string) string {
	s, _ := v.(string)
	if _, err := time.Parse(time.RFC3339Nano, strings.ToUpper(s)); err != nil {
		return wants(at, "an RFC 3339 time", v)
	}
	return ""
}

// OneOf returns a shape that accepts only these strings.
func OneOf(words ...string) Shape {
	return func(v any, at string) string {
		if s, ok := v.(string); !ok || !slices.Contains(words, s) {
			return wants(at, "one of "+strings.Join(words, ", "), v)
		}
		return ""
	}
}

// AnObject accepts any object.
var AnObject = Object(nil, nil)

func wants(at, what string, v any) string {
	where := at
	if where == "" {
		where = "the answer"
	}
	return fmt.Sprintf("%s is %s, not %s", where, kind(v), what)
}

func kind(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return fmt.Sprintf("%.40q", v)
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	}
	return fmt.Sprint(v)
}
