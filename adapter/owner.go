package adapter

import (
	"slices"
	"strings"

	"github.com/apbridge/apbridge/mapping"
)

// Owner returns the dialect that a path of the bridge belongs to, in whatever form the path came. ok is false for a
// path of none.
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

// IsOpen reports whether a path, in any form, is one of the face's public paths. The result is valid only for a path
// that the dialect owns: see Dialects.Owner.
func (d Dialect) IsOpen(path string) bool {
	return slices.ContainsFunc(d.PublicPaths, func(pattern string) bool { return matches(pattern, path) })
}

// InStore reports whether a path, in any form, is of the long-term store.
func (l Dialects) InStore(path string) bool {
	return slices.ContainsFunc(l, func(d Dialect) bool {
		return slices.ContainsFunc(d.Store, func(pattern string) bool { return within(pattern, path) })
	})
}

// RunIn returns the id of the run that a path names, in any form; "" where it names none.
func (l Dialects) RunIn(path string) string {
	for _, d := range l {
		if id := RunIn(d.Runs, path); id != "" {
			return id
		}
	}
	return ""
}

// RunIn returns the id that stands for the part "{run}" of the first of the patterns by which the path names a run.
func RunIn(patterns []string, path string) string {
	for _, pattern := range patterns {
		if id := partOf(pattern, "{run}", path); mapping.IsUUID(id) {
			return id
		}
	}
	return ""
}

// partOf is what the path has in the place of a part of the pattern; "": it is not within the pattern.
func partOf(pattern, part, path string) string {
	if !within(pattern, path) {
		return ""
	}
	for pattern != "" {
		var want, have string
		want, pattern = firstPart(pattern)
		have, path = firstPart(path)
		if want == part {
			return have
		}
	}
	return ""
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

// matches reports whether a path is exactly what the pattern names. A variable does not stand for an empty part.
func matches(pattern, path string) bool {
	for pattern != "" {
		if !strings.HasPrefix(path, "/") {
			return false
		}
		var want, have string
		want, pattern = firstPart(pattern)
		have, path = firstPart(path)
		if variable := strings.HasPrefix(want, "{") && have != ""; want != have && !variable {
			return false
		}
	}
	return path == ""
}

// firstPart splits /a/b into a and /b.
func firstPart(path string) (part, rest string) {
	path = path[1:]
	if i := strings.IndexByte(path, '/'); i >= 0 {
		return path[:i], path[i:]
	}
	return path, ""
}
