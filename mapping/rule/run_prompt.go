package rule

import (
	"encoding/json"
	"strings"
)

// Transcript says how much of the conversation a task/step agent is told.
type Transcript string

const (
	TranscriptFull Transcript = "full"
	TranscriptLast Transcript = "last" // from the last human message before the current one on
	TranscriptNone Transcript = "none"
)

// PromptBudget is the longest prompt in bytes: the JS SDK agent answers 413
// above 100 kB.
const PromptBudget = 90_000

const (
	promptHistory = "Conversation so far:\n\n"
	promptCurrent = "Current request:\n"
)

// Prompt writes the input of a new task: the first turn verbatim, later ones
// exactly "Conversation so far:\n\nUser: …\nAssistant: …\n\nCurrent request:\n…".
// earlier are the messages before the current one, notes are memory lines put
// before the conversation. Only what people, agents and systems said in text
// is told. Over the budget (0: PromptBudget) the oldest messages go first,
// then the last notes, and dropped is true; a current text over the budget is
// kept whole.
func Prompt(mode Transcript, earlier []json.RawMessage, current string, notes []string, budget int) (text string, dropped bool) {
	if budget <= 0 {
		budget = PromptBudget
	}
	lines := transcript(mode, earlier)
	size := promptSize(lines, current, notes)
	for ; size > budget && len(lines) > 0; lines = lines[1:] {
		size, dropped = size-len(lines[0])-1, true
	}
	for ; size > budget && len(notes) > 0; notes = notes[:len(notes)-1] {
		size, dropped = size-len(notes[len(notes)-1])-1, true
	}
	return writePrompt(lines, current, notes), dropped
}

// promptSize is an upper bound of what writePrompt writes: it counts headings
// that may turn out not to be needed.
func promptSize(lines []string, current string, notes []string) int {
	n := len(current)
	if len(lines)+len(notes) > 0 {
		n += len(promptHistory) + len(promptCurrent) + 2
	}
	for _, part := range [...][]string{lines, notes} {
		for _, line := range part {
			n += len(line) + 1
		}
	}
	return n
}

func writePrompt(lines []string, current string, notes []string) string {
	if len(lines)+len(notes) == 0 {
		return current
	}
	var b strings.Builder
	b.Grow(promptSize(lines, current, notes) + 1)
	if len(notes) > 0 {
		b.WriteString(strings.Join(notes, "\n") + "\n\n")
	}
	if len(lines) > 0 {
		b.WriteString(promptHistory + strings.Join(lines, "\n") + "\n\n")
	}
	b.WriteString(promptCurrent + current)
	return b.String()
}

// transcript are the lines of the conversation that are told.
func transcript(mode Transcript, earlier []json.RawMessage) []string {
	if mode == TranscriptNone {
		return nil
	}
	var lines []string
	for _, m := range earlier {
		kind := messageKind(m)
		if mode == TranscriptLast && kind == typeHuman {
			lines = nil
		}
		if line := transcriptLine(kind, MessageText(m)); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

func transcriptLine(kind, text string) string {
	if text == "" {
		return ""
	}
	switch kind {
	case typeHuman:
		return "User: " + text
	case typeAI:
		return "Assistant: " + text
	case typeSystem:
		return "System: " + text
	default:
		return ""
	}
}
