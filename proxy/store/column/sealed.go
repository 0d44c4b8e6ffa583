package column

// The columns whose bodies are sealed where the bridge has keys (sqldb.Tx.Sealed). Of the rows they are in, what names
// something stays as it is, and what is searched for: ids, labels, paths, times, statuses and the metadata of threads,
// runs and crons.
const (
	EventHead         = "events.head"
	EventData         = "events.data"
	EventSnapshot     = "events.snapshot"
	ThreadConfig      = "threads.config"
	ThreadInterrupts  = "threads.interrupts"
	TaskInput         = "tasks.input"
	TaskAdditional    = "tasks.additional"
	RequestInput      = "requests.input"
	RequestAdditional = "requests.additional"
	RunKwargs         = "runs.kwargs"
	RunOptions        = "runs.options"
	RunFault          = "runs.fault"
	RunCallHead       = "run_calls.head"
	RunCallSent       = "run_calls.sent"
	RunCallReceived   = "run_calls.received"
	IdempotencySum    = "idempotency.sum"
	OutboxBody        = "outbox.body"
	CronPayload       = "crons.payload"
	CronRun           = "crons.run"
	AssistantBodies   = "assistants.body"
	VersionBody       = "assistant_versions.body"
	SecretValue       = "secrets.value"
	ChunkData         = "chunks.data"
)
