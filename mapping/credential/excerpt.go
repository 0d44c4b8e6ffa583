package credential

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Excerpt returns the beginning of a text for a message or a log: at most most characters on one line, without control
// characters. Credentials are removed before the text is cut, because a part of a credential would not be recognised.
func (s Set) Excerpt(text string, most int) string {
	text = s.line(text)
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most]) + "…"
}

// Ending is Excerpt for the end of a text.
func (s Set) Ending(text string, most int) string {
	text = s.line(text)
	if over := utf8.RuneCountInString(text) - most; over > 0 {
		return "…" + string([]rune(text)[over:])
	}
	return text
}

// line returns a text on one line. Folding may change blanks within a credential, so credentials are hidden before and
// after.
func (s Set) line(text string) string {
	text = s.Hide(strings.ToValidUTF8(text, "\uFFFD"))
	return s.Hide(strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " "))
}
