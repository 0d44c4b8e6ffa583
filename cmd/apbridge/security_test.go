package main

import (
	"os"
	"strings"
	"testing"
)

// TestSecurityRows checks that each threat in docs/security.md has a test, and that the tests exist.
func TestSecurityRows(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	sources, rows := testSources(t), 0
	_, threats, _ := strings.Cut(string(raw), "\n## Threats\n")
	threats, _, _ = strings.Cut(threats, "\n## ")
	for line := range strings.Lines(threats) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| threat ") {
			continue
		}
		rows++
		cells := strings.Split(strings.TrimSpace(line), " | ")
		named := faultTest.FindAllStringSubmatch(cells[len(cells)-1], -1)
		if len(cells) != 3 || len(named) == 0 {
			t.Errorf("no test is named: %s", line)
		}
		for _, test := range named {
			if !sources[test[1]] {
				t.Errorf("there is no test %s: %s", test[1], line)
			}
		}
	}
	if rows < 30 {
		t.Errorf("%d rows", rows)
	}
}
