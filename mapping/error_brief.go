package mapping

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// WithoutAgent removes the agent's name and address from the beginning of a message, for lists that have the agent in
// another column.
func WithoutAgent(agent, message string) string {
	for _, subject := range []string{`The agent "` + agent + `" `, `Agent "` + agent + `" `, "Agent " + agent + " "} {
		rest, ok := strings.CutPrefix(message, subject)
		if !ok {
			continue
		}
		if at, ok := strings.CutPrefix(rest, "at "); ok {
			_, rest, _ = strings.Cut(at, " ")
		}
		if first, n := utf8.DecodeRuneInString(rest); n > 0 {
			return string(unicode.ToUpper(first)) + rest[n:]
		}
	}
	return message
}

// WithoutTraceback replaces a traceback of Python with its last line, which is the exception.
func WithoutTraceback(message string) string {
	before, trace, found := strings.Cut(strings.TrimRightFunc(message, unicode.IsSpace), "Traceback (most recent call last):\n")
	last := trace[strings.LastIndexByte(trace, '\n')+1:]
	if !found || unicode.IsSpace(rune(last[0])) { // its end is missing
		return message
	}
	return before + last
}
