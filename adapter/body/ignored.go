package body

import (
	"net/http"
	"strings"

	"github.com/apbridge/apbridge/mapping"
)

// IgnoredHeader names the members of a request's body that mean nothing here, with commas between.
const IgnoredHeader = "X-Apbridge-Ignored"

// Ignored adds a member to IgnoredHeader. Names that no header can hold, and more than fit into ignoredMost bytes, are
// told as "...".
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

// full reports whether the header says all that it ever will.
func full(h http.Header) bool { return strings.HasSuffix(h.Get(IgnoredHeader), more) }

// plain reports whether a name is visible ASCII without a comma.
func plain(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == ',' })
}

// Unknown decides on a member that means nothing here: it is ignored and named in the answer's header, or refused with
// an *mapping.Error of class Invalid where it is nearly one of the known names. Once there are more of them than the
// header holds, none is taken for a misspelling.
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
