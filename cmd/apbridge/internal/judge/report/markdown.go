package report

import (
	"fmt"
	"io"
	"strings"
)

// Markdown writes the report for a pull request or a page.
func (r Report) Markdown(w io.Writer) error {
	var b strings.Builder
	s := r.Summary()
	fmt.Fprintf(&b, "# %s\n\n%d passed, %d failed, %d skipped, %d not judged in %.1f s, begun %s.\nPassed: %s.\n",
		cell(r.Target), s.Passed, s.Failed, s.Skipped, s.NotJudged, s.Seconds, stamp(r.Began), r.Rate())
	if s.Grader != nil {
		fmt.Fprintf(&b, "The grader used %d tokens.\n", *s.Grader)
	}
	if len(s.Flaky) > 0 {
		fmt.Fprintf(&b, "Flaky: %s.\n", cell(strings.Join(s.Flaky, ", ")))
	}
	b.WriteString("\n| challenge | difficulty | result | steps | seconds | tokens | cost | reason |\n|---|---|---|---|---|---|---|---|\n")
	for _, each := range r.Results {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %.1f | %s | %s | %s |\n", cell(each.Challenge.Name), cell(dash(each.Challenge.Info.Difficulty)), each.verdict(),
			each.steps(), each.seconds(), each.tokens(), each.cost(), cell(each.reason()))
	}
	for _, each := range r.Results {
		for _, a := range each.Attempts {
			if a.Status == Failed {
				fmt.Fprintf(&b, "\n## %s\n\n%s\n", cell(each.label(a)), cell(a.Reason))
				writeFacts(&b, a)
			}
		}
	}
	for i, f := range r.Faults {
		if i == 0 {
			b.WriteString("\n## No challenges\n\n")
		}
		fmt.Fprintf(&b, "- %s\n", cell(f.Error()))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeFacts(b *strings.Builder, a Attempt) {
	for _, x := range a.facts() {
		fmt.Fprintf(b, "\n%s:\n\n    %s\n", cell(x.name), strings.ReplaceAll(strings.TrimRight(lineEnds.Replace(x.text), "\n"), "\n", "\n    "))
	}
}

// lineEnds normalizes line endings (CommonMark, section 2.1).
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// markup escapes everything that can begin markup within a line (CommonMark, sections 2.4 and 6; GitHub Flavored
// Markdown, section 4.10), including backslashes.
var markup = strings.NewReplacer("\r", " ", "\n", " ", "&", "&amp;", "<", "&lt;", ">", "&gt;", `\`, `\\`,
	"|", `\|`, "`", "\\`", "*", `\*`, "_", `\_`, "~", `\~`, "[", `\[`, "]", `\]`, "#", `\#`, "!", `\!`)

// cell escapes a text, which may come from an agent.
func cell(text string) string { return markup.Replace(text) }
