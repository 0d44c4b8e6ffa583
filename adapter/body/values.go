package body

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/apbridge/apbridge/mapping"
)

// Values reads a URL-encoded form (URL Standard, section 5). Line breaks in its values become LF. limit is the maximum
// length of the body in bytes; 0 means no limit. A request without a body is an empty form.
func Values(w http.ResponseWriter, r *http.Request, limit int64) (url.Values, error) {
	raw, err := read(w, r, limit, typeEncoded)
	if err != nil {
		return nil, err
	}
	said, err := url.ParseQuery(string(raw))
	if err != nil {
		e := malformed("The form cannot be read: it is not valid " + typeEncoded + ".")
		e.Err = err
		return nil, e
	}
	in := url.Values{}
	for name, values := range said {
		for _, v := range values {
			if !mapping.IsText(name) || !mapping.IsText(v) {
				return nil, malformed("The form cannot be read: a name or value is not UTF-8 or contains U+0000.")
			}
			in.Add(name, strings.ReplaceAll(v, "\r\n", "\n")) // HTML sends CRLF
		}
	}
	return in, nil
}
