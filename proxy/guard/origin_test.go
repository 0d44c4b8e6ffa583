package guard

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var named = regexp.MustCompile("`([A-Za-z][A-Za-z-]*)`")

// TestPagesMayReadAnswers checks that each response header in docs/headers.md is exposed, unless pages may read it
// anyway or do not need it.
func TestPagesMayReadAnswers(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../docs/headers.md")
	if err != nil {
		t.Fatal(err)
	}
	safe := []string{"Cache-Control", "Content-Length", "Content-Type"} // Fetch standard, CORS-safelisted response-header name
	silent := []string{"Vary", "Content-Encoding", "Connection", "X-Accel-Buffering", "X-Content-Type-Options", "Referrer-Policy", "Content-Security-Policy"}
	exposed, found := strings.Split(exposed, ", "), 0
	for section := range strings.SplitSeq(string(raw), "\n## ") {
		if !strings.HasPrefix(section, "Responses") {
			continue
		}
		for line := range strings.Lines(section) {
			first, _, row := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
			if !row || !strings.HasPrefix(line, "| ") {
				continue
			}
			for _, name := range named.FindAllStringSubmatch(first, -1) {
				found++
				known := slices.Contains(safe, name[1]) || slices.Contains(silent, name[1]) || strings.HasPrefix(name[1], "Access-Control-")
				if slices.Contains(exposed, name[1]) == known {
					t.Errorf("%s: exposed %v", name[1], known)
				}
			}
		}
	}
	if found < 25 {
		t.Errorf("%d headers were found", found)
	}
	for _, name := range []string{"Accept-Ranges", "Content-Range"} { // sent by net/http
		if !slices.Contains(exposed, name) {
			t.Errorf("%s is not exposed", name)
		}
	}
}
