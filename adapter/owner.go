package adapter

import (
	"slices"
	"strings"

	"github.com/apbridge/apbridge/mapping"
)

// Owner returns the dialect that owns a path of the bridge, in any form. ok is false if there is none.
func (l Dialects) Owner(path string) (d Dialect, ok bool) {
	i := slices.IndexFunc(l, func(d Dialect) bool { return d.Owns(path) })
	if i < 0 {
		return d, false
	}
	return l[i], true
}

// Owns reports whether a path, in any form, belongs to the face.
func (d Dialect) Owns(path string) bool {
	return slices.ContainsFunc(d.Paths, func(pattern string) bool { return within(pattern, path) })
}

// IsOpen reports whether a path, in any form, is one of the face's public paths. The result is only valid for a path
// that the dialect owns: see Dialects.Owner.
func (d Dialect) IsOpen(path string) bool {
	return slices.ContainsFunc(d.PublicPaths, func(pattern string) bool { return matches(pattern, path) })
}

// InStore reports whether a path, in any form, belongs to the long-term store.
func (l Dialects) InStore(path string) bool {
	return slices.ContainsFunc(l, func(d Dialect) bool {
		return slices.ContainsFunc(d.Store, func(pattern string) bool { return within(pattern, path) })
	})
}

// RunIn returns the id of the run in a path, in any form, or "".
func (l Dialects) RunIn(path string) string {
	for _, d := range l {
		if id := RunIn(d.Runs, path); id != "" {
			return id
		}
	}
	return ""
}

// RunIn returns the part of the path at "{run}" in the first pattern by which the path names a run, or "".
func RunIn(patterns []string, path string) string {
	for _, pattern := range patterns {
		if id := partOf(pattern, "{run}", path); mapping.IsUUID(id) {
			return id
		}
	}
	return ""
}

// partOf returns the part of the path at the given part of the pattern. It returns "" if the path is not within the
// pattern.
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

// within reports whether a path matches the pattern or is below such a path.
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

// matches reports whether a path matches the pattern exactly. A variable does not match an empty part.
func matches(pattern, path string) bool {
	return within(pattern, path) && strings.Count(path, "/") == strings.Count(pattern, "/") && !strings.Contains(path+"/", "//")
}

// firstPart splits /a/b into a and /b.
func firstPart(path string) (part, rest string) {
	path = path[1:]
	if i := strings.IndexByte(path, '/'); i >= 0 {
		return path[:i], path[i:]
	}
	return path, ""
}
