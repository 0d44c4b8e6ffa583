package replay

import (
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
)

// names maps the UUIDs of the current calls to those of the recording and back. The ids of threads and runs differ each
// time, but consistently.
type names struct{ now, then map[string]string }

func newNames() names { return names{map[string]string{}, map[string]string{}} }

func (n names) clone() names { return names{maps.Clone(n.now), maps.Clone(n.then)} }

// bind maps two UUIDs to each other. It returns false if one of them already belongs to another.
func (n names) bind(then, now string) bool {
	a, known := n.now[then]
	b, taken := n.then[now]
	if !known && !taken {
		n.now[then], n.then[now] = now, then
		return true
	}
	return a == now && b == then
}

var uuidPattern = regexp.MustCompile(`[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}`)

// text reports whether two texts are both times, or are equal except for UUIDs that map to each other. Hidden parts of
// the recording match anything.
func (n names) text(then, now string) bool {
	now = hiddenAlike(then, now)
	if then == now && !uuidPattern.MatchString(then) || isTime(then) && isTime(now) {
		return true
	}
	if !slices.Equal(uuidPattern.Split(then, -1), uuidPattern.Split(now, -1)) {
		return false
	}
	ids := uuidPattern.FindAllString(now, -1)
	for i, id := range uuidPattern.FindAllString(then, -1) {
		if !n.bind(strings.ToLower(id), strings.ToLower(ids[i])) {
			return false
		}
	}
	return true
}

func isTime(text string) bool {
	_, err := time.Parse(time.RFC3339, text)
	return err == nil
}

// call describes how a call differs from the recorded one, or returns "".
func (n names) call(then, now Call) string {
	switch {
	case then.Method != now.Method:
		return "its method is " + now.Method
	case !n.text(plain(then.Target), plain(now.Target)):
		return "its path is " + now.Target
	case then.Unread:
		return ""
	case now.Body.Cut != then.Body.Cut:
		return "its body has another length"
	}
	return n.body(then, now)
}

func plain(target string) string {
	if u, err := url.PathUnescape(target); err == nil {
		return u
	}
	return target
}

func (n names) body(then, now Call) string {
	a, b := withoutBoundary(then), withoutBoundary(now)
	var x, y any
	if json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil {
		return n.value("", x, y)
	}
	if !n.text(a, b) {
		return fmt.Sprintf("its body is %s, recorded was %s", short(b), short(a))
	}
	return ""
}

// withoutBoundary returns the body. In a multipart form it replaces the random boundary.
func withoutBoundary(c Call) string {
	kind, params, err := mime.ParseMediaType(c.Type)
	if err != nil || !strings.HasPrefix(kind, "multipart/") || params["boundary"] == "" {
		return c.Body.raw()
	}
	return strings.ReplaceAll(c.Body.raw(), params["boundary"], "boundary")
}

// value describes where and how two JSON values differ, or returns "".
func (n names) value(at string, then, now any) string {
	switch a := then.(type) {
	case string:
		if b, ok := now.(string); ok && n.text(a, b) {
			return ""
		}
	case []any:
		if b, ok := now.([]any); ok && len(a) == len(b) {
			for i := range a {
				if diff := n.value(fmt.Sprintf("%s[%d]", at, i), a[i], b[i]); diff != "" {
					return diff
				}
			}
			return ""
		}
	case map[string]any:
		if b, ok := now.(map[string]any); ok {
			return n.object(at, a, b)
		}
	default:
		if reflect.DeepEqual(then, now) {
			return ""
		}
	}
	return fmt.Sprintf("%s is %s, recorded was %s", named(at), shortJSON(now), shortJSON(then))
}

func (n names) object(at string, then, now map[string]any) string {
	for _, key := range slices.Sorted(maps.Keys(then)) {
		below := strings.TrimPrefix(at+"."+key, ".")
		value, ok := now[key]
		if !ok {
			return fmt.Sprintf("%s is missing, recorded was %s", below, shortJSON(then[key]))
		}
		if diff := n.value(below, then[key], value); diff != "" {
			return diff
		}
	}
	for _, key := range slices.Sorted(maps.Keys(now)) {
		if _, ok := then[key]; !ok {
			return fmt.Sprintf("%s is %s, and was not there when it was recorded", strings.TrimPrefix(at+"."+key, "."), shortJSON(now[key]))
		}
	}
	return ""
}

func named(at string) string {
	if at == "" {
		return "its body"
	}
	return at
}

func shortJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return short(string(raw))
}

const shortMost = 120

func short(text string) string {
	if len(text) > shortMost {
		return strings.ToValidUTF8(text[:shortMost], "") + "…"
	}
	return text
}
