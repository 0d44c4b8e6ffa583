package mapping

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// IsText reports whether s can be a name: an id, a key, a label of a namespace, a path, a media type, or anything else
// that has a text column in the database. A name must be UTF-8 without U+0000, as PostgreSQL's text requires
// ("Character Types", "Character Set Support"). JSON and the bytes of files are not names and are stored verbatim.
func IsText(s string) bool {
	return strings.IndexByte(s, 0) < 0 && utf8.ValidString(s)
}

// MaxThreadName is the maximum length of a client's name for a thread, in characters.
const MaxThreadName = 255

// IsThreadName reports whether s can be a client's name for a thread: a printable name of 1 to MaxThreadName characters.
func IsThreadName(s string) bool {
	return s != "" && IsText(s) && utf8.RuneCountInString(s) <= MaxThreadName && !strings.ContainsFunc(s, unicode.IsControl)
}

// ToText returns s with U+FFFD in place of invalid parts, for texts that are only displayed.
func ToText(s string) string {
	if IsText(s) {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// CheckNames returns an *Error of class Upstream if an agent's event contains an invalid name.
func CheckNames(ev *Event) error {
	if l := ev.Head.Link; l != nil && !IsText(l.Remote) {
		return badName("its thread or task")
	}
	if c := ev.Head.Checkpoint; c != nil && !IsText(c.ID) {
		return badName("a checkpoint")
	}
	return nil
}

// CheckRemote is CheckNames for an agent's id for a file.
func CheckRemote(id string) error {
	if !IsText(id) {
		return badName("a file")
	}
	return nil
}

func badName(what string) *Error {
	return Errorf(Upstream, CodeBadUpstream, "The agent's answer cannot be used: its id for %s contains U+0000 or bytes that are not UTF-8.", what)
}
