package mapping

// Reasons why a run was cancelled, for Run.CancelReason. Each is a word for programs, a colon, and a sentence for
// display. LangGraph Server 0.16 has the field as cancel_reason, and its SDKs document the word "taken".
const (
	CancelledByRequest    = "cancelled: A request cancelled the run."
	CancelledAsTaken      = "taken: According to the request that cancelled the run, its work was taken up elsewhere."
	CancelledOnDisconnect = "disconnected: The client that followed the run disconnected, and had requested that the run be cancelled in that case."
	CancelledAsIdle       = "idle: No client requested the next step within the agent's stepping.idle."
	CancelledUpstream     = "upstream: The run was cancelled at the agent's server."
)

// SupersededBy returns the CancelReason for a run that newer replaced because of newer's strategy.
func SupersededBy(newer Run) string {
	return "superseded: Run " + newer.ID + " replaced it (strategy " + string(newer.Multitask) + ")."
}
