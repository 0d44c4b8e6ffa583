package front

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/apbridge/apbridge/mapping"
)

// shown is a name or sentence from outside with nothing invisible in it: what would turn, hide or break the text
// around it is written as its number.
func shown(text string) string {
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

// clock is a time for people. Without scripts a page cannot say how long ago it was.
func clock(t time.Time) string { return t.UTC().Format("2 Jan, 15:04:05 UTC") }

// instant is a time as <time datetime> wants it.
func instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// sentence is what callers are told of an error.
func sentence(err error) string { return mapping.Classify(err).Message }
