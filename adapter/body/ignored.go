package body

import (
	"net/http"
	"strings"

	"github.com/apbridge/apbridge/mapping"
)

// IgnoredHeader lists the members of a request's body that have no meaning here, separated by commas.
const IgnoredHeader = "X-Apbridge-Ignored"

// Ignored adds a member to IgnoredHeader. Names that a header cannot contain, and those beyond ignoredMost bytes, are
// replaced by "...".
func Ignored(h http.Header, name string) {
	said := h.Get(IgnoredHeader)
	if full(h) {
		return
	}
	if len(said)+len(name) > ignoredMost || !plain(name) {
		name = more
	}
	if said != "" {
		name = said + ", " + name
	}
	h.Set(IgnoredHeader, name)
}

const (
	ignoredMost = 500
	more        = "..."
)

// full reports whether the header will not get any more names.
func full(h http.Header) bool { return strings.HasSuffix(h.Get(IgnoredHeader), more) }

// plain reports whether a name is visible ASCII without a comma.
func plain(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == ',' })
}

// Unknown handles a member that has no meaning here. It returns an *mapping.Error of class Invalid if the name is
// similar to a known one. Otherwise it adds the name to IgnoredHeader. Once that is full, no name is treated as a
// misspelling.
func Unknown(h http.Header, name string, known ...string) error {
	if full(h) {
		return nil
	}
	if near := mapping.Misspelt(name, known); near != "" {
		return invalid("%s is no field of this request. Did you mean %s?", name, near)
	}
	Ignored(h, name)
	return nil
}
