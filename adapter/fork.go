package adapter

// Fork is a point of an agent's thread from which a run continues.
type Fork struct {
	// Checkpoint is the agent's id of it. It is "" if the agent did not send it, as in streams.
	Checkpoint string
	// If Checkpoint is "", Run is the agent's run that made the point, and Step is the thread's step after which it was
	// made.
	Run  string
	Step int
}
