package store

import (
	"strings"
	"unicode/utf8"
)

// A text of PostgreSQL holds neither U+0000 nor bytes that are not UTF-8
// (PostgreSQL documentation, "Character Types" and "Character Set Support"), while ids, keys and paths come from
// outside and may. Such texts are written with a mark in front of what does not
// go: U+10FFFF, which is no character and never will be, and the byte as two
// hexadecimal digits. A mark in the text itself is written as its four bytes. So
// every text has one way to be stored, all comparisons for equality hold, and a
// text without such things, which is nearly every one, stands there as it is.
const escape = "\U0010FFFF"

const hexDigits = "0123456789abcdef"

// storable tells whether a text can stand in the database as it is.
func storable(s string) bool {
	return strings.IndexByte(s, 0) < 0 && utf8.ValidString(s) && !strings.Contains(s, escape)
}

// toText is s as the database holds it.
func toText(s string) string {
	if storable(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if n == 1 && r == utf8.RuneError || r == 0 || s[:n] == escape {
			for i := range n {
				b.WriteString(escape)
				b.WriteByte(hexDigits[s[i]>>4])
				b.WriteByte(hexDigits[s[i]&15])
			}
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

// ofText undoes toText.
func ofText(s string) string {
	if !strings.Contains(s, escape) {
		return s
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, escape)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if len(after) < 2 {
			return b.String() // not written by us
		}
		b.WriteByte(unhex(after[0])<<4 | unhex(after[1]))
		s = after[2:]
	}
}

func unhex(c byte) byte { return byte(max(strings.IndexByte(hexDigits, c), 0)) }
