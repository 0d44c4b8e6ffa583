package replay

import (
	"regexp"
	"strings"

	"github.com/apbridge/apbridge/mapping/credential"
)

// hide takes what grants access out of a text: the credentials of the agent, tokens of runs, and what the text itself
// calls a credential.
func (r *Recorder) hide(text []byte) []byte {
	return credential.HideNamed(r.secrets.HideBytes(text))
}

// hideBody is hide for a body, which may have been cut within a credential.
func (r *Recorder) hideBody(raw []byte, cut bool) []byte {
	if cut {
		raw = r.secrets.WithoutHalf(raw)
	}
	return r.hide(raw)
}

// hidden is an exchange whose words beside the bodies, which are hidden by now, are so, too.
func (r *Recorder) hidden(e Exchange) Exchange {
	text := func(s string) string { return string(r.hide([]byte(s))) }
	e.Call.Target, e.Answer.Error = text(e.Call.Target), text(e.Answer.Error)
	for name, value := range e.Answer.Headers {
		e.Answer.Headers[name] = text(value)
	}
	return e
}

// hiddenAlike is a text of now in which that is hidden which is hidden in the recorded text, so that a credential of
// now, as each run's token is, stands for the one of the recording. A text that is not like it stays as it is.
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
