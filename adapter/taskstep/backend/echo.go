package backend

import (
	"encoding/json"
	"strings"
)

// echoLimit is how many times in a row an agent may report the very same error as the output of a step that is not the
// last.
const repeatLimit = 3

// echo notices an agent that fails in every step without ever ending: its steps succeed, and their output is always the
// same text that begins like an error. Output that differs, or does not read as an error, is left to max_steps.
type repeatGuard struct {
	text  string
	times int
}

func (e *repeatGuard) add(output json.RawMessage, last bool) {
	text, err := text(output, "")
	switch {
	case err != nil || last || !readsAsError(text):
		*e = repeatGuard{}
	case text == e.text:
		e.times++
	default:
		*e = repeatGuard{text, 1}
	}
}

// stuck is the error that was reported too often, or "".
func (e *repeatGuard) stuck() string {
	if e.times < repeatLimit {
		return ""
	}
	return e.text
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
