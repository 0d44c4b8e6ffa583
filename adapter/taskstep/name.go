package taskstep

import (
	"net/url"
	"unicode/utf8"
)

// decodeName decodes a valid percent-encoding of UTF-8; other names stay.
func decodeName(name string) string {
	plain, err := url.PathUnescape(name)
	if err != nil || !utf8.ValidString(plain) {
		return name
	}
	return plain
}
