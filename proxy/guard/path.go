package guard

import (
	"net/http"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/apbridge/apbridge/mapping"
)

const codePath = "bad_path"

// pathGuard refuses paths that two programs could read differently, before other checks use the path. So the path that
// is checked is the path that is routed.
type pathGuard struct{ refuser Refuser }

// Path returns a guard that refuses paths that two programs could read differently.
func Path(f Refuser) Guard { return pathGuard{f} }

func (g pathGuard) Pass(x *Exchange) bool {
	why := PathFault(x.Request)
	if why == "" {
		return true
	}
	g.refuser.Refuse(x.Writer, x.Request, mapping.Errorf(mapping.Malformed, codePath, "The path of the request is refused: %s.", why))
	return false
}

// PathFault returns the fault of a request's target, or "". Only origin-form (RFC 9112 section 3.2.1) is accepted.
func PathFault(r *http.Request) string {
	if r.Method == http.MethodConnect || r.URL.IsAbs() || r.URL.Host != "" || !strings.HasPrefix(r.RequestURI, "/") {
		return "it must begin with a slash, without scheme and host"
	}
	raw, _, _ := strings.Cut(r.RequestURI, "?")
	if strings.ContainsAny(raw, "#;\\") {
		return "it contains one of # ; \\"
	}
	segments := strings.Split(raw[1:], "/")
	for i, segment := range segments {
		if why := segmentFault(segment, i == len(segments)-1); why != "" {
			return why
		}
	}
	return ""
}

func segmentFault(raw string, last bool) string {
	segment, err := url.PathUnescape(raw)
	switch {
	case err != nil || !utf8.ValidString(segment):
		return "it is not properly encoded"
	case segment == "" && !last:
		return "it contains an empty segment (//)"
	case segment == "." || segment == "..":
		return "it contains a segment . or .."
	case strings.ContainsAny(segment, `/\`):
		return "it contains an encoded slash or backslash"
	case strings.ContainsFunc(segment, unicode.IsControl):
		return "it contains a control character"
	case stillEncoded(segment):
		return "it is encoded twice"
	}
	return ""
}

// stillEncoded reports whether another decoding would change the segment.
func stillEncoded(segment string) bool {
	again, err := url.PathUnescape(segment)
	return err == nil && again != segment
}
