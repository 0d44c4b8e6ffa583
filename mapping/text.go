package mapping

import (
	"strings"
	"unicode/utf8"
)

// IsText reports whether s can name something: an id, a key, a label of a namespace, a path, a media type, or whatever
// else has a column of text in the database. That is UTF-8 without U+0000, since PostgreSQL's text holds nothing else
// ("Character Types", "Character Set Support"). Values are no names: JSON and the bytes of files are carried as they
// came.
func IsText(s string) bool {
	return strings.IndexByte(s, 0) < 0 && utf8.ValidString(s)
}

// ToText returns s with U+FFFD in the place of what is no text, for words that are only read.
func ToText(s string) string {
	if IsText(s) {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// CheckNames refuses an event of an agent that names something by what is no text, with an *Error of class Upstream.
func CheckNames(ev *Event) error {
	if l := ev.Head.Link; l != nil && !IsText(l.Remote) {
		return badName("its thread or task")
	}
	if c := ev.Head.Checkpoint; c != nil && !IsText(c.ID) {
		return badName("a checkpoint")
	}
	return nil
}

// CheckRemote is CheckNames for the id that an agent has given a file.
func CheckRemote(id string) error {
	if !IsText(id) {
		return badName("a file")
	}
	return nil
}

func badName(what string) *Error {
	return Errorf(Upstream, CodeBadUpstream, "The agent's answer cannot be used: its id for %s holds U+0000 or bytes that are not UTF-8.", what)
}
