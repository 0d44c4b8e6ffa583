package rig

import (
	"slices"
	"strings"
)

// Metric returns the sorted lines of one name in /metrics, without the name.
func (b *Bridge) Metric(name string) []string {
	b.T.Helper()
	var lines []string
	for line := range strings.Lines(string(b.Get("/metrics").OK().Body)) {
		if rest, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), name+"{"); ok {
			lines = append(lines, "{"+rest)
		}
	}
	slices.Sort(lines)
	return lines
}
