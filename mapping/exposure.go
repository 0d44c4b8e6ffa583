package mapping

// Exposure is how much an agent shows of what it keeps of a thread. The zero value is also used for an agent whose
// dialect is not known yet.
type Exposure int

const (
	// ExposesValues: the agent reports the values of its state.
	ExposesValues Exposure = iota
	// ExposesHistory: the agent keeps the conversation of a thread and shows its messages and files, but no values. The
	// bridge keeps the state. It names the agent's conversation in Link.Topic.
	ExposesHistory
	// ExposesNothing: the agent shows the outputs of its tasks only. The bridge keeps the state.
	ExposesNothing
)

// ReportsState reports whether the agent has a state of its own that can be read. Any other agent is called opaque: the
// bridge presents it as a graph of one node and merges its inputs and outputs itself.
func (e Exposure) ReportsState() bool { return e == ExposesValues }

// KeepsConversation reports whether the agent remembers earlier tasks of a thread, so that a new task there needs only
// what is new.
func (e Exposure) KeepsConversation() bool { return e != ExposesNothing }
