package mapping

import "encoding/json"

// Transcript says how much of the conversation a task/step agent is told.
type Transcript string

const (
	TranscriptFull Transcript = "full"
	TranscriptLast Transcript = "last"
	TranscriptNone Transcript = "none"
)

// PromptBudget is the longest prompt in bytes: the JS SDK agent answers 413
// above 100 kB.
const PromptBudget = 90_000

// Prompt writes the input of a new task: the first turn verbatim, later ones
// exactly "Conversation so far:\n\nUser: …\nAssistant: …\n\nCurrent request:\n…".
// earlier are the messages before the current one, notes are memory lines put
// before the conversation. Over the budget the oldest messages go first and
// dropped is true; a current text over the budget is kept whole.
func Prompt(mode Transcript, earlier []json.RawMessage, current string, notes []string, budget int) (text string, dropped bool) {
	panic("stub")
}
