package upstream

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unique"

	"github.com/apbridge/apbridge/mapping/credential"
)

// shownHeaders are those whose values are kept. Of all others only the names are: what a header holds that is not known
// may grant access.
var shownHeaders = []string{
	"Accept", "Accept-Encoding", "Allow", "Cache-Control", "Cdn-Loop", "Connection", "Content-Disposition", "Content-Encoding", "Content-Length",
	"Content-Location", "Content-Type", "Date", "Etag", "Idempotency-Key", "Last-Event-Id", "Last-Modified", "Location", "Retry-After", "Server",
	"Traceparent", "Transfer-Encoding", "User-Agent", "Vary", "X-Request-Id",
}

// headerLines are the header of a kept call, a line for each field by name: the name, and after a colon its value where
// that may be shown. No value has a line break (RFC 9110, section 5.5). The calls of a run, and of other runs of the
// agent, are alike in most of it: each text is in memory once.
type headerLines struct{ text unique.Handle[string] }

func linesOf(h http.Header) headerLines {
	var room [512]byte
	var some [16]string
	lines, names := room[:0], slices.AppendSeq(some[:0], maps.Keys(h))
	slices.Sort(names)
	for _, name := range names {
		lines = append(lines, name...)
		if slices.Contains(shownHeaders, name) {
			lines = append(append(lines, ':'), strings.Join(h[name], ", ")...)
		}
		lines = append(lines, '\n')
	}
	return headerLines{unique.Make(string(lines))}
}

// shown are the fields by name, without what could grant access.
func (h headerLines) shown(s credential.Set) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(h.text.Value()) {
		name, value, known := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		if !known {
			value = credential.HiddenText
		}
		fields[name] = s.Hide(value)
	}
	return fields
}

// shownURL is the target of a call, without the user's name and password. It is in memory once, as headers are.
func shownURL(u *url.URL) unique.Handle[string] {
	if u == nil {
		return unique.Make("")
	}
	target := *u
	target.User = nil
	return unique.Make(target.String())
}
