package body

import (
	"net/http"
	"strings"

	"github.com/apbridge/apbridge/mapping"
)

// IgnoredHeader is the response header that lists the ignored members of the request body, separated by commas.
const IgnoredHeader = "X-Apbridge-Ignored"

// Ignored adds the name of a member to IgnoredHeader. A name that a header cannot contain, or that would exceed
// ignoredMost bytes, is replaced by "...". No names are added after that.
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

// full reports whether no more names can be added to the header.
func full(h http.Header) bool { return strings.HasSuffix(h.Get(IgnoredHeader), more) }

// plain reports whether a name is visible ASCII without a comma.
func plain(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == ',' })
}

// Unknown handles an unknown member. It returns a *mapping.Error of class Invalid if the name is similar to a known
// one. Otherwise it adds the name to IgnoredHeader. Once that header is full, no name is treated as a misspelling.
func Unknown(h http.Header, name string, known ...string) error {
	if full(h) {
		return nil
	}
	if near := mapping.Misspelt(name, known); near != "" {
		return invalid("%s is not a field of this request. Did you mean %s?", name, near)
	}
	Ignored(h, name)
	return nil
}
