package upstream

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/mapping/credential"
)

// shownHeaders are those whose values are kept. Of all others only the names are: what a header holds that is not known
// may grant access.
var shownHeaders = []string{
	"Accept", "Accept-Encoding", "Allow", "Cache-Control", "Cdn-Loop", "Connection", "Content-Disposition", "Content-Encoding", "Content-Length",
	"Content-Location", "Content-Type", "Date", "Etag", "Idempotency-Key", "Last-Event-Id", "Last-Modified", "Location", "Retry-After", "Server",
	"Traceparent", "Transfer-Encoding", "User-Agent", "Vary", "X-Request-Id",
}

// headerLines are the header of a kept call, a line for each field: its name, and after a colon its value where that
// may be shown. No value has a line break (RFC 9110, section 5.5).
type headerLines string

func linesOf(h http.Header) headerLines {
	var room [512]byte
	lines := room[:0] // the string is as long as they are
	for name, values := range h {
		lines = append(lines, name...)
		if slices.Contains(shownHeaders, name) {
			lines = append(append(lines, ':'), strings.Join(values, ", ")...)
		}
		lines = append(lines, '\n')
	}
	return headerLines(lines)
}

// shown are the fields by name, without what could grant access.
func (h headerLines) shown(s credential.Set) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(string(h)) {
		name, value, known := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		if !known {
			value = credential.HiddenText
		}
		fields[name] = s.Hide(value)
	}
	return fields
}

// shownURL is the target of a call, without the user's name and password.
func shownURL(u *url.URL) string {
	if u == nil {
		return ""
	}
	target := *u
	target.User = nil
	return target.String()
}
