package credential

import (
	"bytes"
	"regexp"
)

// RunTokenPrefix begins each token that an agent is given for a run, so that it is told from a key.
const RunTokenPrefix = "apbridge-run_"

// HiddenText stands for a credential that was taken out of a text.
const HiddenText = "[hidden]"

var runToken = regexp.MustCompile(RunTokenPrefix + `[\w-]+(\.[\w-]*)?`)

// HideRunTokens takes tokens of runs out of a text, whole ones and such that are cut off.
func HideRunTokens(text []byte) []byte {
	if !bytes.Contains(text, []byte(RunTokenPrefix)) {
		return text
	}
	return runToken.ReplaceAll(text, []byte(HiddenText))
}

// Names of what grants access, wherever it comes from. A member whose name ends with token or secret, and with nothing
// of the above, may hold a word that a model said or a mark of its language (<|…|>), so it is taken for one only where
// its value has the length of a credential and no space.
const (
	credentialName  = `[\w.-]*(?:api[_-]?key|(?:access|refresh|id|auth|session|bearer|security)[_-]?token|client[_-]?secret|(?:secret|private|access|account|subscription)[_-]?key|passw(?:or)?d|passphrase)`
	credentialExact = `(?:proxy-)?authorization|(?:set-)?cookies?|pwd|jwt`
	credentialQuery = credentialName + `|token|secret|key|sig|[\w-]*signature`
)

// The expressions keep what stands in front of a value ($1) and after it ($2). The second reads JSON that is a text
// within JSON, however deep, the fifth the password of a URL.
var credentials = []*regexp.Regexp{
	regexp.MustCompile(`(?i)("(?:` + credentialName + `|` + credentialExact + `)"\s*:\s*")(?:[^"\\]|\\.)+`),
	regexp.MustCompile(`(?i)(\\+"(?:` + credentialName + `|` + credentialExact + `)\\+"\s*:\s*\\+")[^"\\]+`),
	regexp.MustCompile(`(?i)(\\*"[\w.-]*(?:token|secret)\\*"\s*:\s*\\*")[^"\\\s<][^"\\\s]{15,}`),
	regexp.MustCompile(`(?i)((?:[?&]|\\u0026)(?:` + credentialQuery + `)=)[^&\s"'#\\<>]+`),
	regexp.MustCompile(`(:(?:\\?/){2}[^/?#\s:@"'\\<>]*:)[^/?#\s@"'\\<>]+(@)`),
	regexp.MustCompile(`(?i)(\A(?:` + credentialQuery + `)=)[^&\s"'#\\<>]+`),
}

// HideNamed takes out of a text what its place says to be a credential: members of JSON, parameters of URLs and fields
// of forms with such names, and tokens of runs. It is for what is handed on; it makes no text safe to publish.
func HideNamed(text []byte) []byte {
	text = HideRunTokens(text)
	for _, c := range credentials {
		if c.Match(text) {
			text = c.ReplaceAll(text, []byte("${1}"+HiddenText+"${2}"))
		}
	}
	return text
}
