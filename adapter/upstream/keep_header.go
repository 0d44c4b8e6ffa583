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

// shownHeaders lists the headers whose values are kept. For all others only the name is kept, because the value of an
// unknown header may grant access.
var shownHeaders = []string{
	"Accept", "Accept-Encoding", "Allow", "Cache-Control", "Cdn-Loop", "Connection", "Content-Disposition", "Content-Encoding", "Content-Length",
	"Content-Location", "Content-Type", "Date", "Etag", "Idempotency-Key", "Last-Event-Id", "Last-Modified", "Location", "Retry-After", "Server",
	"Traceparent", "Transfer-Encoding", "User-Agent", "Vary", "X-Request-Id",
}

// headerLines is the header of a kept call: one line per field, sorted by name. A line has the name and, if the value
// may be shown, a colon and the value. Values contain no line breaks (RFC 9110, section 5.5). The calls to an agent
// mostly have equal headers, so each text is in memory only once.
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

// shown returns the fields by name, without values that could grant access.
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

// shownURL returns the target of a call without user name and password. Like headers, it is in memory only once.
func shownURL(u *url.URL) unique.Handle[string] {
	if u == nil {
		return unique.Make("")
	}
	target := *u
	target.User = nil
	return unique.Make(target.String())
}
