package console

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/apbridge/apbridge/mapping/credential"
)

// Patterns of secrets on a command line.
var (
	// secretName matches flags, variables and query members with names of secrets.
	secretName = regexp.MustCompile(`(?i)(api[-_]?key|secret|password|passwd|credential|bearer)s?$|token$|(^|[^a-z0-9])(key|pwd|pass|auth|authorization)s?$`)
	assignment = regexp.MustCompile(`[\w.-]+=[^\s"'&#]+`)
	flagValue  = regexp.MustCompile(`-[\w.-]+\s+[^\s"'-][^\s"']*`)
	// member matches a member of JSON or YAML or a header, including the scheme of its credentials.
	member  = regexp.MustCompile(`(?i)[\w.-]+(?:\\?["'])?\s*:\s*(?:"(?:[^"\\]|\\.)*"|\\"[^"\\]*\\"|'[^']*'|(?:(?:basic|bearer|token|digest)\s+)?[^\s"'{}\[\],/][^\s"'{}\[\],]*)`)
	address = regexp.MustCompile(`[a-zA-Z][a-zA-Z0-9+.-]*://[^\s"']+`)
)

const hidden = credential.HiddenText

// WithoutSecrets returns a command line for reports, which may be published. It hides the values of flags, variables
// and query members whose names suggest a secret, logins in URLs, and texts that look like keys. Other secrets cannot
// be recognised. They belong in the environment.
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

// WithoutParts returns a word, which may be a whole shell script, without the secrets in it. It hides more than
// credential.Set.Hide, since in a command line short names such as "key" mean a credential.
func WithoutParts(word string) string {
	word = address.ReplaceAllStringFunc(word, withoutLogin)
	for _, form := range []*regexp.Regexp{assignment, flagValue} {
		word = form.ReplaceAllStringFunc(word, func(part string) string { return withoutValue(part, strings.IndexAny(part, "= \t\n")) })
	}
	word = member.ReplaceAllStringFunc(word, func(part string) string { return withoutValue(part, strings.IndexByte(part, ':')) })
	return credential.Set(nil).Hide(word)
}

// withoutValue hides the value after the name of a secret. end is the index of the separator.
func withoutValue(part string, end int) string {
	if !secretName.MatchString(strings.TrimRight(part[:end], ` \"'`)) {
		return part
	}
	value := strings.TrimLeft(part[end+1:], " \t\n")
	quote := ""
	if part[end] == ':' && strings.HasPrefix(value, `"`) {
		quote = `"` // so that JSON stays valid
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
