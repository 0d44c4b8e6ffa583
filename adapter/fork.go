package adapter

// Fork is a point of an agent's thread from which a run goes on.
type Fork struct {
	// Checkpoint is what the agent calls it; "" where it did not say, as streams do not.
	Checkpoint string
	// Run and Step say by which of the agent's runs it was made, and after which of that thread's steps, where
	// Checkpoint is "".
	Run  string
	Step int
}
