package rule

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strings"
)

// Transcript is the part of the conversation that a task/step agent receives.
type Transcript string

const (
	TranscriptFull Transcript = "full"
	TranscriptLast Transcript = "last" // starting with the last human message before the current one
	TranscriptNone Transcript = "none"
)

// Of returns the earlier messages that the agent receives.
func (m Transcript) Of(earlier []json.RawMessage) []json.RawMessage {
	switch m {
	case TranscriptNone:
		return nil
	case TranscriptLast:
		return earlier[max(0, lastHuman(earlier)):]
	}
	return earlier
}

// Newest returns the last messages that fit into a budget in bytes. A budget of 0 means PromptBudget. dropped reports
// whether others were omitted.
func Newest(messages []json.RawMessage, budget int) (kept []json.RawMessage, dropped bool) {
	if budget <= 0 {
		budget = PromptBudget
	}
	for i, m := range slices.Backward(messages) {
		if budget -= len(m) + 1; budget < 0 {
			return messages[i+1:], true
		}
	}
	return messages, false
}

// PromptBudget is the default maximum length of a prompt in bytes. The JS SDK agent answers 413 above 100 kB.
const PromptBudget = 90_000

const (
	historyHeading = "Conversation so far:"
	currentHeading = "Current request:"
	promptHistory  = historyHeading + "\n\n"
	promptCurrent  = currentHeading + "\n"
)

// lineWithHeading matches a heading at the beginning of a line, after any line break of Unicode (section 5.8).
var lineWithHeading = regexp.MustCompile(`(^|[\n\v\f\r\x{85}\x{2028}\x{2029}])(` + historyHeading + `|` + currentHeading + `)`)

// withoutHeadings indents each line of a text that begins with a heading of the prompt, so that an agent does not
// mistake it for the request.
func withoutHeadings(text string) string {
	if !strings.Contains(text, historyHeading) && !strings.Contains(text, currentHeading) {
		return text
	}
	return lineWithHeading.ReplaceAllString(text, "${1}  ${2}")
}

// PromptParts holds the parts of a prompt.
type PromptParts struct {
	Mode    Transcript
	Earlier []json.RawMessage // messages before the current request
	Current string            // the request
	Notes   []string          // lines of memory
	// TextOf returns the text of a message's content; nil means MessageText.
	TextOf func(message json.RawMessage) string
}

// Prompt returns the input of a new task. The first turn is the current text verbatim. Later ones have exactly the form
// "Conversation so far:\n\nUser: …\nAssistant: …\n\nCurrent request:\n…". Notes precede the conversation. No line of a
// note or an earlier message begins with a heading. A budget of 0 means PromptBudget. The budget is used first for the
// current text, which is always complete, then for the conversation's last message, to which the current text may
// respond, then for the notes in order, then for earlier messages, newest first.
func (t PromptParts) Prompt(budget int) (text string, cut Cut) {
	if budget <= 0 {
		budget = PromptBudget
	}
	size := len(t.Current) + promptFrame
	last, _, _ := t.lines(size, budget, 1)
	room := budget - size - linesSize(last)
	notes := slices.Clone(t.Notes)
	for i, n := range notes {
		notes[i] = withoutHeadings(n)
		if room -= len(notes[i]) + 1; room < 0 {
			notes, cut.Notes = notes[:i], true
			break
		}
	}
	lines, size, dropped := t.lines(size+linesSize(notes), budget, math.MaxInt)
	cut.Messages = dropped
	if len(lines)+len(notes) == 0 {
		return t.Current, cut
	}
	return writePrompt(lines, t.Current, notes, size), cut
}

// Cut reports which parts did not fit into a prompt's budget.
type Cut struct{ Messages, Notes bool }

func linesSize(lines []string) (size int) {
	for _, l := range lines {
		size += len(l) + 1
	}
	return size
}

// promptFrame is the length of the text around the parts of a prompt.
const promptFrame = len(promptHistory) + len(promptCurrent) + 2

// lines returns at most most of the newest lines of the conversation that fit, oldest first. It builds them starting
// with the newest, so a long conversation costs no more than its used part.
func (t PromptParts) lines(size, budget, most int) (lines []string, full int, dropped bool) {
	if t.Mode == TranscriptNone {
		return nil, size, false
	}
	for _, m := range slices.Backward(t.Earlier) {
		line := messageLine(m, t.line(m))
		if line != "" && size+len(line)+1 > budget {
			dropped = true
			break
		}
		if line != "" {
			size += len(line) + 1
			lines = append(lines, line)
		}
		if len(lines) == most {
			break
		}
		if t.Mode == TranscriptLast && messageKind(m) == typeHuman {
			break
		}
	}
	slices.Reverse(lines)
	return lines, size, dropped
}

func (t PromptParts) line(message json.RawMessage) string {
	if t.TextOf == nil {
		return MessageText(message)
	}
	return t.TextOf(message)
}

// Withholds reports whether the mode alone withholds earlier messages from the agent.
func (t PromptParts) Withholds() bool {
	hidden := t.Earlier
	if t.Mode == TranscriptLast {
		hidden = hidden[:max(0, lastHuman(hidden))]
	}
	return t.Mode != TranscriptFull && t.Mode != "" &&
		slices.ContainsFunc(hidden, func(m json.RawMessage) bool { return messageLine(m, t.line(m)) != "" })
}

func lastHuman(messages []json.RawMessage) int {
	for i, m := range slices.Backward(messages) {
		if messageKind(m) == typeHuman {
			return i
		}
	}
	return -1
}

func writePrompt(lines []string, current string, notes []string, size int) string {
	var b strings.Builder
	b.Grow(size + 1)
	if len(notes) > 0 {
		b.WriteString(strings.Join(notes, "\n") + "\n\n")
	}
	if len(lines) > 0 {
		b.WriteString(promptHistory + strings.Join(lines, "\n") + "\n\n")
	}
	if current == "" {
		return strings.TrimRight(b.String(), "\n")
	}
	b.WriteString(promptCurrent + current)
	return b.String()
}
