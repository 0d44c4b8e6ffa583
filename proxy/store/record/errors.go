package record

import (
	"database/sql"
	"errors"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
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

// CodeHeadMoved refuses an update of a state that is not the thread's newest any more.
const CodeHeadMoved = "head_moved"

// CodeTaskMoved refuses a run whose maker does not know the newest run of its task.
const CodeTaskMoved = "task_conflict"

// Missing returns the NotFound that names what is missing where err is sql.ErrNoRows, else err.
func Missing(err error, code, noun, id string) error {
	if errors.Is(err, sql.ErrNoRows) {
		return mapping.Errorf(mapping.NotFound, code, "There is no %s %q.", noun, id)
	}
	return err
}

// NoThread is Missing of a thread.
func NoThread(err error, id string) error {
	return Missing(err, mapping.CodeThreadNotFound, "thread", id)
}

// NoRun is Missing of a run.
func NoRun(err error, id string) error {
	return Missing(err, mapping.CodeRunNotFound, "run", id)
}

// NoTask is Missing of a task.
func NoTask(err error, id string) error {
	return Missing(err, mapping.CodeTaskNotFound, "task", id)
}
