package mapping

// AssistantID is the UUID of the assistant of a configured agent, the same
// that LangGraph derives from a graph's name: uuid5(6ba7b821-9dad-11d1-80b4-00c04fd430c8, name).
func AssistantID(agent string) string { panic("stub") }

// StepID is uuid5(taskID, n), n in decimal. A task id that is not a UUID is
// first made one: uuid5(AssistantID's namespace, id).
func StepID(taskID string, n int) string { panic("stub") }

// MessageID is uuid5(base, name) by the same rule; name is "input", "input/1"
// or "answer".
func MessageID(base, name string) string { panic("stub") }

// InterruptID is uuid5(runID, ordinal of the question in its run, decimal).
func InterruptID(runID string, n int) string { panic("stub") }

// StateTaskID is the id of the one state task of an opaque agent at a checkpoint.
func StateTaskID(checkpointID string) string { panic("stub") }

// NewID returns a fresh UUIDv7: ids of threads, runs, tasks, checkpoints, artifacts.
func NewID() string { panic("stub") }

// IsUUID tells whether s is a UUID in its canonical, hyphenated form.
func IsUUID(s string) bool { panic("stub") }
