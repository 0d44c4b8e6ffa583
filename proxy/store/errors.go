package store

import (
	"errors"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// ErrFenced: the run's lease belongs to another process by now, or the run has ended; nothing was written.
var ErrFenced = errors.New("store: the run is not held under this fence")

// Errors of the database itself.
var (
	// ErrLapsed: this process's lease had ended before it was renewed. What it held is free, and may be another's by
	// now.
	ErrLapsed = sqldb.ErrLapsed
	// ErrUnknown: whether an operation was committed could not be found out. It must not be done again before the
	// database was looked at.
	ErrUnknown = sqldb.ErrUnknown
)

// Codes of refusals that come from the database itself, for whatever is asked of it.
const (
	CodeStorageFull = sqldb.CodeStorageFull
	CodeUnavailable = sqldb.CodeUnavailable
)

// CodeThreadThere refuses a new thread whose id is taken.
const CodeThreadThere = "thread_exists"

// CodeNameTaken refuses a new thread whose name is taken.
const CodeNameTaken = "thread_name_taken"

// CodeHeadMoved refuses an update of a state that is not the thread's newest any more.
const CodeHeadMoved = "head_moved"

// CodeTaskMoved refuses a run whose maker does not know the newest run of its task.
const CodeTaskMoved = "task_conflict"

// noRun is tables.NotFound of a run.
func noRun(err error, id string) error {
	return tables.NotFound(err, mapping.CodeRunNotFound, "run", id)
}

// noTask is tables.NotFound of a task.
func noTask(err error, id string) error {
	return tables.NotFound(err, mapping.CodeTaskNotFound, "task", id)
}
