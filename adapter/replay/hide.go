package replay

import (
	"regexp"
	"strings"

	"github.com/apbridge/apbridge/mapping/credential"
)

// hideBody removes credentials from a body, which may have been cut off within one.
func (r *Recorder) hideBody(raw []byte, cut bool) []byte {
	if cut {
		raw = r.secrets.WithoutHalf(raw)
	}
	return r.secrets.HideBytes(raw)
}

// hidden removes credentials from an exchange except for its bodies, from which they have already been removed.
func (r *Recorder) hidden(e Exchange) Exchange {
	e.Call.Target, e.Answer.Error = r.secrets.Hide(e.Call.Target), r.secrets.Hide(e.Answer.Error)
	for name, value := range e.Answer.Headers {
		e.Answer.Headers[name] = r.secrets.Hide(value)
	}
	return e
}

// hiddenAlike hides the parts of a new text that are hidden in the recorded text, so that a new credential, such as a
// run's token, matches the recorded one. If the texts differ otherwise, it returns the new text unchanged.
func hiddenAlike(then, now string) string {
	if !strings.Contains(then, credential.HiddenText) {
		return now
	}
	parts := strings.Split(then, credential.HiddenText)
	for i, part := range parts {
		parts[i] = uuidPattern.ReplaceAllString(regexp.QuoteMeta(part), uuidPattern.String())
	}
	like, err := regexp.Compile(`(?s)\A` + strings.Join(parts, `(.*?)`) + `\z`)
	if err != nil {
		return now
	}
	at := like.FindStringSubmatchIndex(now)
	for i := len(at) - 2; i >= 2; i -= 2 {
		now = now[:at[i]] + credential.HiddenText + now[at[i+1]:]
	}
	return now
}
