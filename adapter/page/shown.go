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

// Functions returns the functions that templates write texts and times with, by their names there.
func Functions() template.FuncMap {
	return template.FuncMap{"shown": Shown, "text": Text, "clock": Clock, "instant": Instant}
}

// Shown returns a name or sentence from outside with nothing invisible in it: what would turn, hide or break the text
// around it is written as its number.
func Shown(text string) string {
	var b strings.Builder
	for _, c := range text {
		if unicode.IsPrint(c) {
			b.WriteRune(c)
		} else {
			fmt.Fprintf(&b, `\u{%x}`, c)
		}
	}
	return b.String()
}

// Clock returns a time as people read it, in UTC. Scripts say how long ago it was: in
// the page, that would be another text, and another ETag, each second.
func Clock(t time.Time) string { return t.UTC().Format("2 Jan, 15:04:05 UTC") }

// Instant returns a time as <time datetime> wants it.
func Instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Wanted reports whether a client names HTML among what it takes, as browsers do and programs do not.
func Wanted(h http.Header) bool {
	for part := range strings.SplitSeq(strings.Join(h.Values("Accept"), ","), ",") {
		kind, parameters, err := mime.ParseMediaType(part)
		if err == nil && kind == "text/html" && parameters["q"] != "0" {
			return true
		}
	}
	return false
}
