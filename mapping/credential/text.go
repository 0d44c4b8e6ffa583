package credential

import (
	"bytes"
	"strings"
)

const (
	maxWord    = 1 << 10 // bytes of the authority of a URL
	maxSlashed = 128     // bytes of a password after its first slash
	maxBlanks  = 8
)

// text scans b[from:to], which is not JSON. If it contains JSON escapes, it is also decoded and scanned again.
func (f *finder) text(from, to int) {
	f.words(from, to)
	part := f.b[from:to]
	if bytes.Contains(part, []byte(`\"`)) || bytes.Contains(part, []byte(`\u`)) {
		f.within(from, to)
	}
}

// ahead caches how far words has looked ahead, so that a long word or line is not read again for each separator in it.
type ahead struct {
	word  int // end of the last word that was scanned as a value
	digit int // index of the last digit in that word, or -1
	line  int // end of the last line of cookies without =
}

// words finds the credentials in b[from:to] that are visible without decoding. The functions that it calls return the
// end of the hidden part, or 0.
func (f *finder) words(from, to int) {
	f.ahead = ahead{}
	b := f.b[:to]
	for i := from; i < to; i++ {
		switch c := b[i]; {
		case c == '=':
			i = max(i, f.assigned(from, i, to)-1)
		case c == ':' && slashes(b, i+1) > 0:
			i = max(i, f.login(slashes(b, i+1), to)-1)
		case c == ':':
			i = max(i, f.told(from, i, to)-1)
		case (isWordByte(c) || c == '-') && (i == from || !isWordByte(b[i-1])):
			if at, end := formed(b, i); end > 0 {
				f.hide(at, end)
				i = end - 1
			}
		}
	}
}

// slashes returns the index after the two slashes at i, which JSON may escape, or 0.
func slashes(b []byte, i int) int {
	for range 2 {
		if i < len(b) && b[i] == '\\' {
			i++
		}
		if i >= len(b) || b[i] != '/' {
			return 0
		}
		i++
	}
	return i
}

// login finds the password of a URL whose authority begins at i. It ends at the last @ before the path, because
// passwords often have an unescaped @ or slash.
func (f *finder) login(i, to int) int {
	b := f.b[:min(to, i+maxWord)]
	inURL := func(c byte) bool { return !isBlank(c) && strings.IndexByte("\"'<>", c) < 0 }
	path := skip(b, i, func(c byte) bool { return inURL(c) && strings.IndexByte("/?#", c) < 0 })
	colon := bytes.IndexByte(b[i:path], ':')
	if colon < 0 || b[i] == '[' {
		return 0
	}
	password := i + colon + 1
	at := i + bytes.LastIndexByte(b[i:path], '@')
	if port := skip(b[:path], password, isDigit); at < i && port < path {
		at = i + bytes.LastIndexByte(b[i:skip(b[:min(len(b), path+maxSlashed)], path, inURL)], '@')
	}
	if at > password && bytes.IndexByte(b[i:password], '@') < 0 {
		return f.hide(password, at)
	}
	return 0
}

// assigned finds the value after the = at i, for a parameter of a URL or form, or for a variable.
func (f *finder) assigned(from, i, to int) int {
	b := f.b[:to]
	at, end, before := f.nameBefore(from, i)
	if at == end {
		return 0
	}
	name := string(b[at:end])
	if end == i && (before == '?' || before == '&' || before == '#' || before == ';' || at == 0) && isSecretParameter(name) {
		return f.hide(i+1, skip(b, i+1, func(c byte) bool { return !isBlank(c) && strings.IndexByte("\"'&#\\<>", c) < 0 }))
	}
	value := skip(b[:min(to, i+maxBlanks)], i+1, func(c byte) bool { return c == ' ' })
	return f.valueAt(value, to, secrecyOf(name), 1)
}

// told finds the value after the colon at i, for a header, or for a member in a format like JSON, such as YAML or a
// Python dictionary. Sentences have colons too, so a value without quotes must have a digit.
func (f *finder) told(from, i, to int) int {
	b := f.b[:to]
	at, end, _ := f.nameBefore(from, i)
	name := string(b[at:end])
	how := secrecyOf(name)
	if how == open {
		return 0
	}
	value := skip(b[:min(to, i+maxBlanks)], i+1, func(c byte) bool { return c == ' ' || c == '\t' })
	if strings.HasSuffix(strings.ToLower(name), "cookie") && value >= f.ahead.line && value < to && b[value] != '=' {
		line := skip(b, value, func(c byte) bool { return c != '\n' && c != '\r' && c != '"' && c != '\'' })
		if bytes.IndexByte(b[value:line], '=') > 0 {
			return f.hide(value, line)
		}
		f.ahead.line = line
	}
	for _, scheme := range []string{"basic ", "bearer ", "token ", "digest ", "apikey "} {
		if n := value + len(scheme); n < to && strings.EqualFold(string(b[value:n]), scheme) {
			return f.valueAt(n, to, how, 1)
		}
	}
	return f.valueAt(value, to, how, leastWord)
}

// valueAt hides the value at i: the text between quotes, or a word of at least least bytes.
func (f *finder) valueAt(i, to int, how secrecy, least int) int {
	b := f.b[:to]
	if how == open || i >= to {
		return 0
	}
	if b[i] == 'b' && i+1 < to && b[i+1] == '\'' {
		i++
	}
	if b[i] == '\'' || b[i] == '"' {
		end, closed := endOfString(b, i)
		if closed && (how == secret || longEnough(b[i+1:end-1])) {
			return f.hide(i+1, end-1)
		}
		return 0
	}
	end, digit := f.word(i, to)
	if how == secret && end-i >= least && (least == 1 || digit) || how == perhaps && end-i > leastUnsure && digit {
		return f.hide(i, end)
	}
	return 0
}

// word returns the end of the word at i. digit reports whether it has a digit.
func (f *finder) word(i, to int) (end int, digit bool) {
	if i >= f.ahead.word {
		inWord := func(c byte) bool { return !isBlank(c) && strings.IndexByte("\"'&;,<>(){}\\", c) < 0 }
		f.ahead.word = skip(f.b[:to], i, inWord)
		f.ahead.digit = bytes.LastIndexAny(f.b[i:f.ahead.word], "0123456789")
		if f.ahead.digit >= 0 {
			f.ahead.digit += i
		}
	}
	return f.ahead.word, f.ahead.digit >= i
}

// nameBefore returns the bounds of the name before the separator at i, and the byte before it.
func (f *finder) nameBefore(from, i int) (at, end int, before byte) {
	b := f.b
	end = i
	for end > from && i-end < 2 && (b[end-1] == ' ' || b[end-1] == '\'' || b[end-1] == '"') {
		end--
	}
	at = end
	for at > from && end-at <= maxName && (isNameByte(b[at-1]) || b[at-1] == '%') {
		at--
	}
	if at > 0 {
		before = b[at-1]
	}
	return at, end, before
}
