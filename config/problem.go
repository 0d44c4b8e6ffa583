package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one mistake in a configuration.
type Problem struct {
	Where string // "apbridge.yaml:12", "environment APBRIDGE_LISTEN", "flag --listen"; "" if the key is not set
	Key   string // "agents.legacy.url"; "" if it concerns no key
	Text  string // the mistake and its remedy, without secrets

	line int // in the file; otherwise 0
}

func (c Problem) String() string {
	parts := make([]string, 0, 3)
	for _, p := range []string{c.Where, c.Key, c.Text} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, ": ")
}

// Problems is the error of Load and lists all problems of a configuration. Those of the file come first, in the order
// of its lines.
type Problems []Problem

func (cs Problems) Error() string {
	lines := make([]string, len(cs))
	for i, c := range cs {
		lines[i] = c.String()
	}
	return strings.Join(lines, "\n")
}

func (cs Problems) sort() {
	slices.SortStableFunc(cs, func(a, b Problem) int {
		if (a.line == 0) != (b.line == 0) {
			return cmp.Compare(b.line, a.line)
		}
		return cmp.Compare(a.line, b.line)
	})
}

// place is the origin of a key's value.
type place struct {
	name string // file, "environment NAME" or "flag --NAME"
	line int    // in a file; otherwise 0
}

func (p place) String() string {
	if p.line == 0 {
		return p.name
	}
	return fmt.Sprintf("%s:%d", p.name, p.line)
}

func (p place) problem(key, format string, args ...any) Problem {
	return Problem{Where: p.String(), Key: key, Text: fmt.Sprintf(format, args...), line: p.line}
}
