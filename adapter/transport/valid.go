package transport

import (
	"net/http"
	"strings"
	"unicode/utf8"
)

// isValid tells whether a header can be said as it is (RFC 9110, section 5). What
// cannot be is left out or changed by http.Request.Write, without a word.
func isValid(h http.Header) bool {
	for name, values := range h {
		if name == "" || strings.ContainsFunc(name, notToken) {
			return false
		}
		for _, v := range values {
			if !isText(v) {
				return false
			}
		}
	}
	return true
}

// notToken tells of a character that no name of a field may have.
func notToken(c rune) bool {
	switch {
	case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		return false
	}
	return !strings.ContainsRune("!#$%&'*+-.^_`|~", c)
}

func isText(v string) bool {
	for i := range len(v) {
		if c := v[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
