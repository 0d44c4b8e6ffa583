package report

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/check"
)

// badge is what a badge says.
type badge struct{ label, text, colour string }

// badge counts the musts of all dialects that were checked. Its colour is that of the worst.
func (r Report) badge() badge {
	var names []string
	for _, d := range r.Dialects {
		names = append(names, d.Name)
	}
	passed, failed := r.Count(check.Passed, check.Must), r.Count(check.Failed, check.Must)
	b := badge{strings.Join(names, ", "), fmt.Sprintf("%d/%d musts", passed, passed+failed), "#3a7d2c"}
	switch {
	case !r.Conforms() && passed*10 >= (passed+failed)*9:
		b.colour = "#9a6700"
	case !r.Conforms():
		b.colour = "#b3261e"
	}
	return b
}

// Badge writes the result as a picture (SVG).
func (r Report) Badge(w io.Writer) error {
	b := r.badge()
	left, right := width(b.label), width(b.text)
	label, text := html.EscapeString(b.label), html.EscapeString(b.text)
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="20" role="img" aria-label="%[4]s: %[5]s">
  <title>%[4]s: %[5]s</title>
  <rect width="%[2]d" height="20" fill="#444"/>
  <rect x="%[2]d" width="%[3]d" height="20" fill="%[6]s"/>
  <g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
    <text x="8" y="14" textLength="%[7]d">%[4]s</text>
    <text x="%[8]d" y="14" textLength="%[9]d">%[5]s</text>
  </g>
</svg>
`, left+right, left, right, label, text, b.colour, left-16, left+8, right-16)
	return err
}

// width is that of a text with its margins, in pixels: 7 a letter, which textLength then makes true.
func width(text string) int { return 16 + 7*len([]rune(text)) }

// Endpoint writes the result as the JSON that badges of shields.io are made from (Endpoint Badge, schemaVersion 1).
func (r Report) Endpoint(w io.Writer) error {
	b := r.badge()
	return json.NewEncoder(w).Encode(struct {
		Version int    `json:"schemaVersion"`
		Label   string `json:"label"`
		Message string `json:"message"`
		Colour  string `json:"color"`
	}{1, b.label, b.text, b.colour})
}
