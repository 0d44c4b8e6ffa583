package body

import (
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/mapping"
)

// Media types of bodies.
const (
	TypeJSON    = "application/json"
	typeForm    = "multipart/form-data"
	typeEncoded = "application/x-www-form-urlencoded"
)

// checkKind checks the headers of a request body and returns the parameters of its media type. takes lists the types
// that a dialect accepts, in lower case, the usual one first. "" accepts a body without a type, and a value that begins
// with + accepts all types with that suffix (RFC 6838, section 4.2.8). checkKind refuses compression and charsets other
// than UTF-8.
func checkKind(h http.Header, takes ...string) (map[string]string, error) {
	if compressed(h) {
		return nil, mapping.Errorf(mapping.Unsupported, "unsupported_content_encoding",
			"Compressed request bodies are not supported. Send the body uncompressed, without Content-Encoding.")
	}
	said := h.Get("Content-Type")
	if said == "" && slices.Contains(takes, "") {
		return nil, nil
	}
	media, params, err := mime.ParseMediaType(said)
	if err != nil || !taken(media, takes) {
		return nil, unsupported("The request body must be %s, with a matching Content-Type.", takes[0])
	}
	if media != typeForm && !isUTF8(params["charset"]) { // in a form, each part has its own charset
		return nil, unsupported("The request body must be UTF-8, but its Content-Type names another charset. Send %s.", takes[0])
	}
	return params, nil
}

// isUTF8 reports whether a charset is UTF-8 or a subset of it, in the spellings used by clients.
func isUTF8(charset string) bool {
	return slices.Contains([]string{"", "utf-8", "utf8", "us-ascii"}, strings.ToLower(charset))
}

// compressed reports whether any line of the header names a coding other than identity.
func compressed(h http.Header) bool {
	for coding := range strings.SplitSeq(strings.Join(h.Values("Content-Encoding"), ","), ",") {
		if coding = strings.TrimSpace(coding); coding != "" && !strings.EqualFold(coding, "identity") {
			return true
		}
	}
	return false
}

func taken(media string, takes []string) bool {
	return slices.ContainsFunc(takes, func(t string) bool {
		if strings.HasPrefix(t, "+") {
			return strings.Contains(media, "/") && strings.HasSuffix(media, t)
		}
		return t == media
	})
}

func unsupported(format string, args ...any) error {
	return mapping.Errorf(mapping.Unsupported, "unsupported_content_type", format, args...)
}

func malformed(format string, args ...any) *mapping.Error {
	return mapping.Errorf(mapping.Malformed, mapping.CodeInvalid, format, args...)
}
