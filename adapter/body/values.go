package body

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/apbridge/apbridge/mapping"
)

// Values reads the form of a page (URL Standard, section 5): texts by name, with LF as line ends. limit is the body's
// maximum length in bytes; 0 is any length. A request without a body is an empty form.
func Values(w http.ResponseWriter, r *http.Request, limit int64) (url.Values, error) {
	raw, err := read(w, r, limit, typeEncoded)
	if err != nil {
		return nil, err
	}
	said, err := url.ParseQuery(string(raw))
	if err != nil {
		e := malformed("The form cannot be read: it is not written as " + typeEncoded + ".")
		e.Err = err
		return nil, e
	}
	in := url.Values{}
	for name, values := range said {
		for _, v := range values {
			if !mapping.IsText(name) || !mapping.IsText(v) {
				return nil, malformed("The form cannot be read: a text in it is not UTF-8, or has U+0000.")
			}
			in.Add(name, strings.ReplaceAll(v, "\r\n", "\n")) // HTML sends CRLF
		}
	}
	return in, nil
}
