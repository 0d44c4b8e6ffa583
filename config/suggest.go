package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/mapping"
)

// suggest advises about an unknown word: the nearest known one, or all of them.
func suggest(word string, known []string) string {
	if best := mapping.Nearest(word, known); best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	sorted := slices.Sorted(slices.Values(known))
	return "known here: " + strings.Join(sorted, ", ")
}
