package replay

import (
	"regexp"
	"strings"

	"github.com/apbridge/apbridge/mapping/credential"
)

// hideBody takes credentials out of a body, which may have been cut within one.
func (r *Recorder) hideBody(raw []byte, cut bool) []byte {
	if cut {
		raw = r.secrets.WithoutHalf(raw)
	}
	return r.secrets.HideBytes(raw)
}

// hidden is an exchange whose words beside the bodies, which are hidden by now, are so, too.
func (r *Recorder) hidden(e Exchange) Exchange {
	e.Call.Target, e.Answer.Error = r.secrets.Hide(e.Call.Target), r.secrets.Hide(e.Answer.Error)
	for name, value := range e.Answer.Headers {
		e.Answer.Headers[name] = r.secrets.Hide(value)
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
