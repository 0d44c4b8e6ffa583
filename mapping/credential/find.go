package credential

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	maxTexts  = 10     // decoded texts within texts
	maxNested = 10_000 // nested objects and arrays
)

// finder finds credentials in a text. It reads JSON anywhere in it, even if it is cut off, and reads each byte only a
// few times.
type finder struct {
	known   Set
	b       []byte
	texts   int // number of texts around this one
	found   []span
	strings int // JSON strings so far
	ahead   ahead
}

// find returns the credentials in a text. texts is the number of texts in which it is nested.
func (s Set) find(b []byte, texts int) []span {
	f := finder{known: s, b: b, texts: texts}
	for _, c := range s {
		for at := 0; ; {
			n := bytes.Index(b[at:], []byte(c))
			if n < 0 {
				break
			}
			f.found = append(f.found, span{at + n, at + n + len(c), HiddenText})
			at += n + len(c)
		}
	}
	f.all()
	return f.found
}

// hide records that b[from:to] is a credential, and returns its end.
func (f *finder) hide(from, to int) int {
	if from < to && string(f.b[from:to]) != HiddenText {
		f.found = append(f.found, span{from, to, HiddenText})
	}
	return to
}

// all scans the text: JSON as JSON, and the rest as words.
func (f *finder) all() {
	start, i := 0, 0 // beginning of the words that were not scanned yet
	for i < len(f.b) {
		var end int
		seen := f.strings
		switch f.b[i] {
		case '{', '[':
			end, _ = f.value(i, open, 0)
		case '"':
			end = f.quoted(i)
		}
		if f.strings == seen {
			i = max(end, i+1)
			continue
		}
		f.text(start, i)
		start, i = end, end
	}
	f.text(start, len(f.b))
}

// quoted scans from the quote at i, outside of objects and arrays. The quote may begin a member of an object that began
// earlier, or a text with JSON in it. Any other quote belongs to a sentence.
func (f *finder) quoted(i int) (end int) {
	if i > 0 && f.b[i-1] == '\\' {
		return i + 1
	}
	end, closed := endOfString(f.b, i)
	if !closed {
		return i + 1
	}
	if colon := skip(f.b, end, isBlank); colon < len(f.b) && f.b[colon] == ':' {
		value := skip(f.b, colon+1, isBlank)
		if value < len(f.b) && strings.IndexByte(`"{[-0123456789`, f.b[value]) >= 0 {
			f.strings++
			name := f.decoded(i+1, end-1)
			end, _ = f.valueOf(name, value, secrecyOf(name), 0)
			return end
		}
	}
	if bytes.IndexByte(f.b[i:end], '\\') >= 0 {
		f.strings++
		f.leaf(i+1, end-1, open)
		return end
	}
	return i + 1
}

// value scans the JSON value at i. If it is incomplete, it returns the end of the readable part: the first invalid
// byte, or the beginning of the text of an unclosed string.
func (f *finder) value(i int, how secrecy, nested int) (end int, ok bool) {
	if i >= len(f.b) || nested > maxNested {
		return i, false
	}
	switch c := f.b[i]; {
	case c == '"':
		f.strings++
		end, closed := endOfString(f.b, i)
		if closed {
			f.leaf(i+1, end-1, how)
			return end, true
		}
		if how == secret {
			f.hide(i+1, end)
			return end, false
		}
		return i + 1, false
	case c == '{':
		return f.object(i, how, nested)
	case c == '[':
		return f.array(i, how, nested, true)
	case c == '-' || isDigit(c):
		return f.number(i, how)
	}
	for _, word := range []string{"true", "false", "null", "NaN", "Infinity"} {
		if bytes.HasPrefix(f.b[i:], []byte(word)) {
			return i + len(word), true
		}
	}
	return i, false
}

// valueOf is like value, for the value of a member.
func (f *finder) valueOf(member string, i int, how secrecy, nested int) (end int, ok bool) {
	if listsNames(member) && i < len(f.b) && f.b[i] == '[' {
		return f.array(i, how, nested, false)
	}
	return f.value(i, how, nested)
}

func (f *finder) number(i int, how secrecy) (end int, ok bool) {
	end = skip(f.b, i+1, func(c byte) bool { return isDigit(c) || strings.IndexByte("+-.eE", c) >= 0 })
	if how == secret || f.known.isIn(f.b[i:end]) {
		f.found = append(f.found, span{i, end, `"` + HiddenText + `"`})
	}
	return end, true
}

func (s Set) isIn(b []byte) bool {
	for _, c := range s {
		if bytes.Contains(b, []byte(c)) {
			return true
		}
	}
	return false
}

// array scans the array at i. If mayBePair is set, an array of two strings is a name and its value, as in lists of
// headers.
func (f *finder) array(i int, how secrecy, nested int, mayBePair bool) (end int, ok bool) {
	i = skip(f.b, i+1, isBlank)
	if i < len(f.b) && f.b[i] == ']' {
		return i + 1, true
	}
	first := i
	for n := 0; ; n++ {
		of := how
		if n == 1 && mayBePair {
			of = max(how, f.secrecyInPair(first, i))
		}
		if i, ok = f.value(i, of, nested+1); !ok {
			return i, false
		}
		var done bool
		if i, done, ok = f.next(i, ']'); done || !ok {
			return i, ok
		}
	}
}

// secrecyInPair classifies the second element of an array by the first one. The result is open unless there are exactly
// two strings.
func (f *finder) secrecyInPair(first, second int) secrecy {
	if second >= len(f.b) || f.b[first] != '"' || f.b[second] != '"' {
		return open
	}
	end, closed := endOfString(f.b, second)
	if end = skip(f.b, end, isBlank); closed && end < len(f.b) && f.b[end] != ']' {
		return open
	}
	end, _ = endOfString(f.b, first)
	return secrecyOf(f.decoded(first+1, end-1))
}

func (f *finder) object(i int, how secrecy, nested int) (end int, ok bool) {
	i = skip(f.b, i+1, isBlank)
	if i < len(f.b) && f.b[i] == '}' {
		return i + 1, true
	}
	var p pair
	for {
		if i, ok = f.member(i, how, nested, &p); !ok {
			return i, false
		}
		var done bool
		if i, done, ok = f.next(i, '}'); done || !ok {
			if p.secret {
				f.hide(p.from, p.to)
			}
			return i, ok
		}
	}
}

// pair is an object with a name and a value, as in lists of headers.
type pair struct {
	secret   bool // according to its name
	from, to int  // bounds of the value's text
}

func (f *finder) member(i int, how secrecy, nested int, p *pair) (end int, ok bool) {
	if i >= len(f.b) || f.b[i] != '"' {
		return i, false
	}
	f.strings++
	behind, closed := endOfString(f.b, i)
	if !closed {
		return i + 1, false
	}
	f.leaf(i+1, behind-1, open)
	name := f.decoded(i+1, behind-1)
	if i = skip(f.b, behind, isBlank); i >= len(f.b) || f.b[i] != ':' {
		return i, false
	}
	i = skip(f.b, i+1, isBlank)
	of := max(how, secrecyOf(name))
	if how != open && describes(name) {
		of = open
	}
	end, ok = f.valueOf(name, i, of, nested+1)
	if ok && f.b[i] == '"' {
		switch {
		case named(name):
			p.secret = p.secret || secrecyOf(f.decoded(i+1, end-1)) == secret
		case name == "value" || name == "Value":
			p.from, p.to = i+1, end-1
		}
	}
	return end, ok
}

// next moves from the end of an element or member to the next one, or past the closing bracket.
func (f *finder) next(i int, closing byte) (at int, done, ok bool) {
	if i = skip(f.b, i, isBlank); i >= len(f.b) {
		return i, false, false
	}
	switch f.b[i] {
	case ',':
		return skip(f.b, i+1, isBlank), false, true
	case closing:
		return i + 1, true, true
	}
	return i, false, false
}

// endOfString returns the index after the string at i. An unclosed string ends before a line break or at the end of the
// text.
func endOfString(b []byte, i int) (end int, closed bool) {
	quote := b[i]
	for i++; i < len(b); i++ {
		switch b[i] {
		case quote:
			return i + 1, true
		case '\\':
			i++
		case '\n', '\r':
			return i, false
		}
	}
	return len(b), false
}

// leaf scans the text of a JSON string.
func (f *finder) leaf(from, to int, how secrecy) {
	switch {
	case how == secret, how == perhaps && longEnough([]byte(f.decoded(from, to))):
		f.hide(from, to)
	case bytes.IndexByte(f.b[from:to], '\\') >= 0:
		f.within(from, to)
	default:
		f.words(from, to)
	}
}

// decoded returns the text of a JSON string.
func (f *finder) decoded(from, to int) string {
	if bytes.IndexByte(f.b[from:to], '\\') < 0 {
		return string(f.b[from:to])
	}
	return string(decode(f.b[from:to]))
}

// within decodes the text of a JSON string and scans it.
func (f *finder) within(from, to int) {
	if f.texts == maxTexts {
		return
	}
	found := merge(f.known.find(decode(f.b[from:to]), f.texts+1))
	raw, at, i := f.b[from:to], 0, 0 // i is the index in the text of at in raw
	for _, s := range found {
		for at < len(raw) {
			size, width := unit(raw[at:])
			if i+width > s.from {
				break
			}
			at, i = at+size, i+width
		}
		begin := from + at
		for at < len(raw) && i < s.to {
			size, width := unit(raw[at:])
			at, i = at+size, i+width
		}
		by, _ := json.Marshal(s.by) // a string, which cannot fail
		f.found = append(f.found, span{begin, from + at, string(by[1 : len(by)-1])})
	}
}

// decode decodes the text of a JSON string. Invalid escapes are kept.
func decode(raw []byte) []byte {
	out := make([]byte, 0, len(raw))
	for len(raw) > 0 {
		size, _ := unit(raw)
		out = appendUnit(out, raw[:size])
		raw = raw[size:]
	}
	return out
}

// unit returns the length of the first byte or escape of raw, and the length of its decoded form. Two escapes may form
// one character.
func unit(raw []byte) (size, width int) {
	if raw[0] != '\\' || len(raw) == 1 {
		return 1, 1
	}
	if strings.IndexByte(`"\/bfnrt`, raw[1]) >= 0 {
		return 2, 1
	}
	r, size := escapedRune(raw)
	if size == 0 {
		return 1, 1
	}
	return size, utf8.RuneLen(r)
}

func appendUnit(out, raw []byte) []byte {
	if len(raw) == 1 {
		return append(out, raw[0])
	}
	if at := strings.IndexByte(`"\/bfnrt`, raw[1]); at >= 0 {
		return append(out, "\"\\/\b\f\n\r\t"[at])
	}
	r, _ := escapedRune(raw)
	return utf8.AppendRune(out, r)
}

// escapedRune reads a \u escape, or two that form one character. size is 0 if there is none.
func escapedRune(raw []byte) (r rune, size int) {
	r, ok := hexRune(raw)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if low, ok := hexRune(raw[6:]); ok {
		if whole := utf16.DecodeRune(r, low); whole != utf8.RuneError {
			return whole, 12
		}
	}
	return utf8.RuneError, 6
}

func hexRune(raw []byte) (r rune, ok bool) {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return 0, false
	}
	for _, c := range raw[2:6] {
		at := strings.IndexByte("0123456789abcdef", c|0x20)
		if at < 0 {
			return 0, false
		}
		r = r<<4 | rune(at)
	}
	return r, true
}
