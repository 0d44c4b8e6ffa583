package mapping

// Reasons why a run was cancelled, for Run.CancelReason: a word for programs, a colon, and a sentence for people.
// LangGraph Server 0.16 has the field as cancel_reason, and its SDKs document the word "taken".
const (
	CancelledByRequest    = "cancelled: A request cancelled the run."
	CancelledAsTaken      = "taken: What the run was given to do has been taken up elsewhere, says the request that cancelled it."
	CancelledOnDisconnect = "disconnected: The client that read the run left, and had asked to cancel the run then."
	CancelledAsIdle       = "idle: No client asked for the next step within stepping.idle of the agent."
	CancelledUpstream     = "upstream: The agent's server says that the run was cancelled there."
)

// SupersededBy returns the CancelReason of a run that a newer one replaced because of its strategy.
func SupersededBy(newer Run) string {
	return "superseded: Run " + newer.ID + " took its place (strategy " + string(newer.Multitask) + ")."
}
