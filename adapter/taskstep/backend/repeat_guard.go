package backend

import (
	"encoding/json"
	"strings"
)

// repeatLimit is the number of times in a row that an agent may report the same error as the output of a step that is
// not the last.
const repeatLimit = 3

// repeatGuard detects an agent that fails in every step without ending. The steps of such an agent succeed, but each
// has the same output, which begins like an error. All other agents are bounded by max_steps.
type repeatGuard struct {
	text  string
	times int
}

func (g *repeatGuard) add(output json.RawMessage, last bool) {
	text, err := text(output, "")
	switch {
	case err != nil || last || !readsAsError(text):
		*g = repeatGuard{}
	case text == g.text:
		g.times++
	default:
		*g = repeatGuard{text, 1}
	}
}

// stuck returns the error that was reported too often, or "".
func (g *repeatGuard) stuck() string {
	if g.times < repeatLimit {
		return ""
	}
	return g.text
}

func readsAsError(s string) bool {
	s = strings.ToLower(strings.TrimLeft(s, " \t\r\n\"")) // some agents quote their output
	for _, start := range []string{"error", "an error", "exception", "traceback", "failed"} {
		if strings.HasPrefix(s, start) {
			return true
		}
	}
	return false
}
