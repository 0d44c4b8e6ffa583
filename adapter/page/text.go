package page

import (
	"fmt"
	"strings"
	"unicode"
)

// Text is Shown for texts of several lines. It keeps line feeds and tabs.
func Text(text string) string {
	var b strings.Builder
	for _, c := range text {
		if unicode.IsPrint(c) || c == '\n' || c == '\t' {
			b.WriteRune(c)
		} else {
			fmt.Fprintf(&b, `\u{%x}`, c)
		}
	}
	return b.String()
}
