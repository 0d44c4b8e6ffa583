package console

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/apbridge/apbridge/mapping/credential"
)

// Patterns of secrets on a command line.
var (
	// secretName finds flags, variables and query members that are named like secrets.
	secretName = regexp.MustCompile(`(?i)(api[-_]?key|secret|password|passwd|credential|bearer)s?$|token$|(^|[^a-z0-9])(key|pwd|pass|auth|authorization)s?$`)
	assignment = regexp.MustCompile(`[\w.-]+=[^\s"'&#]+`)
	flagValue  = regexp.MustCompile(`-[\w.-]+\s+[^\s"'-][^\s"']*`)
	// member is one of JSON or YAML, or a header; the scheme of a header's credentials goes with them.
	member  = regexp.MustCompile(`(?i)[\w.-]+(?:\\?["'])?\s*:\s*(?:"(?:[^"\\]|\\.)*"|\\"[^"\\]*\\"|'[^']*'|(?:(?:basic|bearer|token|digest)\s+)?[^\s"'{}\[\],/][^\s"'{}\[\],]*)`)
	address = regexp.MustCompile(`[a-zA-Z][a-zA-Z0-9+.-]*://[^\s"']+`)
)

const hidden = credential.HiddenText

// WithoutSecrets returns a command line for reports, which are shown around: the values of flags, variables and query
// members that are named like secrets are hidden, and so are the logins in URLs and what has the form of a key. Secrets
// of other names are not known for such; they belong in the environment.
func WithoutSecrets(words []string) string {
	shown := make([]string, len(words))
	for i, word := range words {
		name, _, assigned := strings.Cut(word, "=")
		switch {
		case assigned && secretName.MatchString(name) && !strings.Contains(name, "://"):
			shown[i] = name + "=" + hidden
		case i > 0 && strings.HasPrefix(words[i-1], "-") && secretName.MatchString(words[i-1]) && !strings.HasPrefix(word, "-"):
			shown[i] = hidden
		default:
			shown[i] = WithoutParts(word)
		}
	}
	return strings.Join(shown, " ")
}

// WithoutParts returns a word without the secrets within it, which may be a whole script of a shell. It hides more than
// credential.Set.Hide does of other texts, since in a command short names such as "key" mean a credential.
func WithoutParts(word string) string {
	word = address.ReplaceAllStringFunc(word, withoutLogin)
	for _, form := range []*regexp.Regexp{assignment, flagValue} {
		word = form.ReplaceAllStringFunc(word, func(part string) string { return withoutValue(part, strings.IndexAny(part, "= \t\n")) })
	}
	word = member.ReplaceAllStringFunc(word, func(part string) string { return withoutValue(part, strings.IndexByte(part, ':')) })
	return credential.Set(nil).Hide(word)
}

// withoutValue hides what stands after a name that is one of a secret; end is where the sign between them is.
func withoutValue(part string, end int) string {
	if !secretName.MatchString(strings.TrimRight(part[:end], ` \"'`)) {
		return part
	}
	value := strings.TrimLeft(part[end+1:], " \t\n")
	quote := ""
	if part[end] == ':' && strings.HasPrefix(value, `"`) {
		quote = `"` // JSON stays JSON
	}
	return part[:len(part)-len(value)] + quote + hidden + quote
}

// withoutLogin hides the user and the password of a URL.
func withoutLogin(text string) string {
	scheme, rest, _ := strings.Cut(text, "://")
	end := strings.IndexAny(rest, "/?#")
	if _, err := url.Parse(text); err != nil || end < 0 {
		end = len(rest)
	}
	at := strings.LastIndex(rest[:end], "@")
	if at < 0 {
		return text
	}
	return scheme + "://" + hidden + rest[at:]
}
