package store

import (
	"database/sql"
	"errors"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// ErrFenced: the run's lease belongs to another process by now, or the run has
// ended; nothing was written.
var ErrFenced = errors.New("store: the run is not held under this fence")

// What the database itself says of an operation.
var (
	// ErrLapsed: this process's lease had ended before it was renewed. What it held is
	// free, and may be another's by now.
	ErrLapsed = sqldb.ErrLapsed
	// ErrUnknown: whether an operation was committed could not be found out. It must not be
	// done again before the database was looked at.
	ErrUnknown = sqldb.ErrUnknown
)

// Codes of refusals that come from the database itself, for whatever is asked of it.
const (
	CodeStorageFull = sqldb.CodeStorageFull
	CodeUnavailable = sqldb.CodeUnavailable
)

const codeThreadThere = "thread_exists"

// CodeHeadMoved refuses an update of a state that is not the thread's newest any more.
const CodeHeadMoved = "head_moved"

// CodeTaskMoved refuses a run whose maker does not know the newest run of its task.
const CodeTaskMoved = "task_moved"

// missing turns the absence of a row into the error that names what is missing.
func missing(err error, code, noun, id string) error {
	if errors.Is(err, sql.ErrNoRows) {
		return mapping.Errorf(mapping.NotFound, code, "There is no %s %q.", noun, id)
	}
	return err
}

func noThread(err error, id string) error {
	return missing(err, mapping.CodeThreadNotFound, "thread", id)
}

func noRun(err error, id string) error {
	return missing(err, mapping.CodeRunNotFound, "run", id)
}

func noTask(err error, id string) error {
	return missing(err, mapping.CodeTaskNotFound, "task", id)
}
