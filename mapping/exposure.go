package mapping

// Exposure is how much an agent shows of its threads. The zero value is also used for an agent whose dialect is not
// known yet.
type Exposure int

const (
	// ExposesValues means that the agent reports the values of its state.
	ExposesValues Exposure = iota
	// ExposesHistory means that the agent keeps the conversation of a thread and shows its messages and files, but no
	// values. The bridge keeps the state. Link.Topic has the id of the agent's conversation.
	ExposesHistory
	// ExposesNothing means that the agent only shows the outputs of its tasks. The bridge keeps the state.
	ExposesNothing
)

// ReportsState reports whether the agent has its own state and the state can be read. Any other agent is called opaque.
// The bridge presents it as a graph of one node and merges inputs and outputs itself.
func (e Exposure) ReportsState() bool { return e == ExposesValues }

// KeepsConversation reports whether the agent remembers earlier tasks of a thread, so that a new task needs only the
// new messages.
func (e Exposure) KeepsConversation() bool { return e != ExposesNothing }
