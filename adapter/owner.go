package adapter

import (
	"slices"
	"strings"
)

// Owner is the dialect that a path of the bridge belongs to, in whatever form the path
// came. ok is false for a path of none.
func (l Dialects) Owner(path string) (d Dialect, ok bool) {
	i := slices.IndexFunc(l, func(d Dialect) bool { return d.Owns(path) })
	if i < 0 {
		return d, false
	}
	return l[i], true
}

// Owns reports whether a path, in any form, is one of the face's.
func (d Dialect) Owns(path string) bool {
	return slices.ContainsFunc(d.Paths, func(pattern string) bool { return within(pattern, path) })
}

// InStore reports whether a path, in any form, is of the long-term store.
func (l Dialects) InStore(path string) bool {
	return slices.ContainsFunc(l, func(d Dialect) bool {
		return slices.ContainsFunc(d.Store, func(pattern string) bool { return within(pattern, path) })
	})
}

// within reports whether a path is what the pattern names, or lies below it.
func within(pattern, path string) bool {
	for pattern != "" {
		if !strings.HasPrefix(path, "/") {
			return false
		}
		var want, have string
		want, pattern = firstPart(pattern)
		have, path = firstPart(path)
		if want != have && !strings.HasPrefix(want, "{") {
			return false
		}
	}
	return true
}

// firstPart splits /a/b into a and /b.
func firstPart(path string) (part, rest string) {
	path = path[1:]
	if i := strings.IndexByte(path, '/'); i >= 0 {
		return path[:i], path[i:]
	}
	return path, ""
}
