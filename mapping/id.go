package mapping

import (
	"crypto/sha1"
	"hash"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// assistants is the namespace of assistant ids in LangGraph.
var assistants = uuid.MustParse("6ba7b821-9dad-11d1-80b4-00c04fd430c8")

// AssistantID returns the UUID of the assistant of a configured agent. LangGraph derives it in the same way from a
// graph's name: uuid5(6ba7b821-9dad-11d1-80b4-00c04fd430c8, name).
func AssistantID(agent string) string {
	return uuid.NewSHA1(assistants, []byte(agent)).String()
}

// StepID returns uuid5(taskID, n), n in decimal. A task id that is not a UUID is first converted: uuid5(AssistantID's
// namespace, id).
func StepID(taskID string, n int) string { return derive(taskID, strconv.Itoa(n)) }

// MessageID returns uuid5(base, name) by the same rule; name is "input", "input/1" or "answer".
func MessageID(base, name string) string { return derive(base, name) }

// InterruptID returns uuid5(runID, ordinal of the question in its run, decimal) as 32 hexadecimal digits. LangGraph
// only accepts keys of a resume map as ids of questions in that form (langgraph, is_xxh3_128_hexdigest). The ordinal of
// a question of a task/step agent is the step's number.
func InterruptID(runID string, n int) string {
	return strings.ReplaceAll(derive(runID, strconv.Itoa(n)), "-", "")
}

// StateTaskID returns the id of the one state task of an opaque agent at a checkpoint.
func StateTaskID(checkpointID string) string { return derive(checkpointID, "step") }

// NewID returns a new UUIDv7 for threads, runs, tasks, checkpoints and artifacts. Ids of one process are in increasing
// order.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// NewAssistantID returns a random UUID, as LangGraph uses for created assistants.
func NewAssistantID() string { return uuid.NewString() }

// IsUUID reports whether s is a UUID in its canonical, hyphenated form (either case).
func IsUUID(s string) bool {
	_, err := uuid.Parse(s)
	return err == nil && len(s) == 36
}

func derive(base, name string) string { return NewIDMaker(base).Make(name) }

// IDMaker derives many ids from one base. It is used by one goroutine.
type IDMaker struct {
	hash  hash.Hash
	space uuid.UUID
}

// NewIDMaker returns an IDMaker for a base, which is a UUID or any text.
func NewIDMaker(base string) IDMaker {
	m := IDMaker{hash: sha1.New()}
	if IsUUID(base) {
		m.space = uuid.MustParse(base)
	} else {
		m.space = uuid.NewHash(m.hash, assistants, []byte(base), 5)
	}
	return m
}

// Make returns the id for a name. It is the same for the same base and name.
func (m IDMaker) Make(name string) string {
	return uuid.NewHash(m.hash, m.space, []byte(name), 5).String()
}
