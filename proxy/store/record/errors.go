package record

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

const CodeThreadThere = "thread_exists"

// CodeHeadMoved refuses an update of a state that is not the thread's newest any more.
const CodeHeadMoved = "head_moved"

// CodeTaskMoved refuses a run whose maker does not know the newest run of its task.
const CodeTaskMoved = "task_moved"

// Missing turns the absence of a row into the error that names what is missing.
func Missing(err error, code, noun, id string) error {
	if errors.Is(err, sql.ErrNoRows) {
		return mapping.Errorf(mapping.NotFound, code, "There is no %s %q.", noun, id)
	}
	return err
}

func NoThread(err error, id string) error {
	return Missing(err, mapping.CodeThreadNotFound, "thread", id)
}

func NoRun(err error, id string) error {
	return Missing(err, mapping.CodeRunNotFound, "run", id)
}

func NoTask(err error, id string) error {
	return Missing(err, mapping.CodeTaskNotFound, "task", id)
}
