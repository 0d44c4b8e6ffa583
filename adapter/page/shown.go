package page

import (
	"fmt"
	"html/template"
	"mime"
	"net/http"
	"strings"
	"time"
	"unicode"
)

// Functions returns the functions for texts and times in templates, by name.
func Functions() template.FuncMap {
	return template.FuncMap{"shown": Shown, "text": Text, "clock": Clock, "instant": Instant}
}

// Shown returns a foreign name or sentence without control characters and invisible ones. Characters that would reverse,
// hide or break the text around them are replaced with their code points.
func Shown(text string) string { return inert(text, "") }

// Text is Shown for texts of several lines. It keeps line feeds and tabs.
func Text(text string) string { return inert(text, "\n\t") }

// joiners are invisible, but many words and emoji are wrong without them: the zero width non-joiner and joiner.
const joiners = "\u200c\u200d"

func inert(text, keep string) string {
	var b strings.Builder
	for _, c := range text {
		if unicode.IsPrint(c) || unicode.Is(unicode.Zs, c) || strings.ContainsRune(joiners, c) || strings.ContainsRune(keep, c) {
			b.WriteRune(c)
		} else {
			fmt.Fprintf(&b, `\u{%x}`, c)
		}
	}
	return b.String()
}

// Clock returns a time in UTC for display. Scripts show the time elapsed since then. In the page itself, an elapsed
// time would change the text, and thus the ETag, every second.
func Clock(t time.Time) string { return t.UTC().Format("2 Jan, 15:04:05 UTC") }

// Instant returns a time for <time datetime>.
func Instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Wanted reports whether a client names HTML in its Accept header, as browsers do and programs do not.
func Wanted(h http.Header) bool {
	for part := range strings.SplitSeq(strings.Join(h.Values("Accept"), ","), ",") {
		kind, parameters, err := mime.ParseMediaType(part)
		if err == nil && kind == "text/html" && parameters["q"] != "0" {
			return true
		}
	}
	return false
}
