package store

// The columns whose bodies are sealed where the bridge has keys (sqldb.Tx.Sealed). Of the rows they are
// in, what names something stays as it is, and what is searched for: ids, labels, paths, times, statuses
// and the metadata of threads, runs and crons.
const (
	eventHead         = "events.head"
	eventData         = "events.data"
	eventSnapshot     = "events.snapshot"
	threadConfig      = "threads.config"
	threadInterrupts  = "threads.interrupts"
	taskInput         = "tasks.input"
	taskAdditional    = "tasks.additional"
	requestInput      = "requests.input"
	requestAdditional = "requests.additional"
	runKwargs         = "runs.kwargs"
	runOptions        = "runs.options"
	runFault          = "runs.fault"
	runCallHead       = "run_calls.head"
	runCallSent       = "run_calls.sent"
	runCallReceived   = "run_calls.received"
	idempotencySum    = "idempotency.sum"
	outboxBody        = "outbox.body"
	cronPayload       = "crons.payload"
	cronRun           = "crons.run"
	assistantBodies   = "assistants.body"
	versionBody       = "assistant_versions.body"
	secretValue       = "secrets.value"
	chunkData         = "chunks.data"
)
