package credential

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"html"
	"net/url"
	"slices"
	"strings"
)

// least is the minimum length of a credential. Shorter texts would match parts of words.
const least = 4

// Set holds known credentials in every spelling that a peer may use, longest first, because one may be a part of
// another. The zero Set has none. Safe for concurrent use.
type Set []string

// SetOf returns the Set of credentials. Those shorter than 4 bytes are ignored.
func SetOf(credentials ...string) Set {
	var s Set
	for _, c := range credentials {
		s = append(s, spellings(c)...)
	}
	s = slices.DeleteFunc(s, func(text string) bool { return len(text) < least })
	slices.SortFunc(s, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return slices.Compact(s)
}

// InHeader returns the credentials in a header field of a request: its value, the part after the scheme, the password
// of Basic (RFC 7617) and the values of cookies.
func InHeader(name, value string) []string {
	list := []string{value}
	scheme, rest, ok := strings.Cut(value, " ")
	if ok && !strings.EqualFold(name, "Cookie") {
		list = append(list, rest)
	}
	if pair, err := base64.StdEncoding.DecodeString(rest); ok && err == nil && strings.EqualFold(scheme, "Basic") {
		_, password, _ := strings.Cut(string(pair), ":")
		list = append(list, string(pair), password)
	}
	if strings.EqualFold(name, "Cookie") {
		for cookie := range strings.SplitSeq(value, ";") {
			_, content, _ := strings.Cut(cookie, "=")
			list = append(list, content)
		}
	}
	return list
}

// InURL returns the password of a URL, or "".
func InURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	password, _ := u.User.Password()
	return password
}

// spellings returns a text verbatim and as it is written in URLs, HTML and JSON.
func spellings(text string) []string {
	text = strings.TrimSpace(text)
	list := []string{text, url.QueryEscape(text), url.PathEscape(text), html.EscapeString(text)}
	if quoted, err := json.Marshal(text); err == nil {
		list = append(list, strings.Trim(string(quoted), `"`))
	}
	var plain strings.Builder
	to := json.NewEncoder(&plain)
	to.SetEscapeHTML(false)
	if to.Encode(text) == nil {
		list = append(list, strings.Trim(strings.TrimSpace(plain.String()), `"`))
	}
	return list
}

// HideKnown hides only the credentials of the Set. It does not change b.
func (s Set) HideKnown(b []byte) []byte {
	for _, c := range s {
		if bytes.Contains(b, []byte(c)) {
			b = bytes.ReplaceAll(b, []byte(c), []byte(HiddenText))
		}
	}
	return b
}

// WithoutHalf returns a text that was cut off, without an incomplete credential at its end.
func (s Set) WithoutHalf(b []byte) []byte {
	longest := 0
	for _, c := range s {
		for n := min(len(c)-1, len(b)); n > longest; n-- {
			if bytes.HasSuffix(b, []byte(c[:n])) {
				longest = n
			}
		}
	}
	return b[:len(b)-longest]
}
