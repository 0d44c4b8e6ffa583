package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/mapping"
)

// renamed maps names that keys had before the first release to the current ones.
var renamed = map[string]string{
	"limits.bodies": "request_memory", "limits.depth": "max_json_depth", "limits.files": "max_files_per_request",
	"limits.keys": "max_state_keys", "limits.states": "max_supersteps", "limits.prune": "max_prune_threads",
	"memory.transcript": "history", "memory.deliver": "mode", "memory.recall": "max_items", "memory.writes": "allow_writes",
	"memory.budget": "max_bytes", "stepping.default_answer": "auto_answer", "stepping.follow_up": "follow_up_runs",
	"upstream_threads": "delete_upstream_threads",
}

// suggestKey returns advice about the unknown key word below the key at: its new name, or else the advice of suggest.
func suggestKey(at, word string, known []string) string {
	for _, old := range []string{at[strings.LastIndexByte(at, '.')+1:] + "." + word, word} {
		if name := renamed[old]; name != "" && slices.Contains(known, name) {
			return fmt.Sprintf("it is now called %q", name)
		}
	}
	return suggest(word, known)
}

// suggest returns advice about an unknown word: the nearest known one, or all of them.
func suggest(word string, known []string) string {
	if best := mapping.Nearest(word, known); best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	sorted := slices.Sorted(slices.Values(known))
	return "known here: " + strings.Join(sorted, ", ")
}
