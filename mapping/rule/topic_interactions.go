package rule

import (
	"encoding/json"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
)

// Role of an interaction of a topic.
type Role string

const (
	RoleUser   Role = "user"
	RoleAgent  Role = "agent"
	RoleSystem Role = "system"
)

// Interaction is an entry of a topic (Topic RFC of the Agent Protocol, "Interactions"): a message, a question, or the
// end of a task's run.
type Interaction struct {
	ID               string
	TopicID          string
	TaskID           string // the task that it belongs to or that was derived from it; "" if there is none
	Role             Role
	Input            *string // text for the agent
	AdditionalInput  json.RawMessage
	Output           *string // text of the agent
	AdditionalOutput json.RawMessage
	Artifacts        []mapping.Artifact // only with their ID
	CreatedAt        time.Time          // zero if unknown
}

// Conversation is the source of interactions. Messages are those of the thread's newest state. Tasks and Runs are all
// of the thread's, oldest first. Told holds the entries of each run, nil for one that has not begun.
type Conversation struct {
	TopicID  string
	Messages []json.RawMessage
	Tasks    []mapping.Task
	Runs     []mapping.Run
	Told     [][]*state.Entry
}

// Interactions returns the messages of people and systems, the questions, the last message of the agent in each run,
// and the ends of runs without a message, in the order of the conversation. Inputs of waiting tasks are at the end.
// Messages in a branch of the history that a fork abandoned are omitted, and so are runs whose messages are all among
// them.
func (c Conversation) Interactions() []Interaction {
	d := newDialogue(c)
	d.claim()
	d.summarise()
	d.place()
	var out []Interaction
	for _, s := range d.order {
		if s.outside != nil {
			out = append(out, *s.outside)
			continue
		}
		out = d.appendRun(out, s.run)
	}
	for i := range c.Runs {
		out = d.appendRun(out, i)
	}
	return append(out, d.waiting()...)
}

// InteractionOf returns the user's interaction from which the task was derived.
func InteractionOf(t mapping.Task) Interaction {
	return Interaction{
		ID: mapping.MessageID(t.ID, "input"), TopicID: t.ThreadID, TaskID: t.ID, Role: RoleUser,
		Input: ref(t.Input), AdditionalInput: t.AdditionalInput, CreatedAt: t.CreatedAt,
	}
}
