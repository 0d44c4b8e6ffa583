package store

// The columns that are sealed if the bridge has keys (sqldb.Tx.Sealed). Names and columns that are searched remain
// unsealed: ids, labels, paths, times, statuses and the metadata of threads, runs and crons.
const (
	colEventHead         = "events.head"
	colEventData         = "events.data"
	colEventSnapshot     = "events.snapshot"
	colThreadConfig      = "threads.config"
	colThreadInterrupts  = "threads.interrupts"
	colTaskInput         = "tasks.input"
	colTaskAdditional    = "tasks.additional"
	colRequestInput      = "requests.input"
	colRequestAdditional = "requests.additional"
	colRunKwargs         = "runs.kwargs"
	colRunOptions        = "runs.options"
	colRunFault          = "runs.fault"
	colRunCallHead       = "run_calls.head"
	colRunCallSent       = "run_calls.sent"
	colRunCallReceived   = "run_calls.received"
	colIdempotencySum    = "idempotency.sum"
	colHookSecret        = "hooks.secret"
	colOutboxBody        = "outbox.body"
	colOutboxHeaders     = "outbox.headers"
	colCronPayload       = "crons.payload"
	colCronRun           = "crons.run"
	colAssistantBodies   = "assistants.body"
	colVersionBody       = "assistant_versions.body"
	colSecretValue       = "secrets.value"
)
