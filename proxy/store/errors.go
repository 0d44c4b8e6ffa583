package store

import (
	"errors"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// ErrFenced means that the run's lease belongs to another process or the run has ended. Nothing was written.
var ErrFenced = errors.New("store: the run is not held under this fence")

// Errors of the database itself.
var (
	// ErrLapsed means that this process's lease had expired before it was renewed. Everything it held was released and
	// may belong to another process.
	ErrLapsed = sqldb.ErrLapsed
	// ErrUnknown means that it could not be determined whether an operation was committed. It must not be repeated
	// before the database has been checked.
	ErrUnknown = sqldb.ErrUnknown
)

// Codes of errors that come from the database itself.
const (
	CodeStorageFull = sqldb.CodeStorageFull
	CodeUnavailable = sqldb.CodeUnavailable
)

// CodeThreadThere is the error code for a new thread whose id is taken.
const CodeThreadThere = "thread_exists"

// CodeNameTaken is the error code for a new thread whose name is taken.
const CodeNameTaken = "thread_name_taken"

// CodeHeadMoved is the error code for an update of a state that is no longer the thread's newest.
const CodeHeadMoved = "head_moved"

// CodeTaskMoved is the error code for a run whose creator did not know the newest run of its task.
const CodeTaskMoved = "task_conflict"

// noRun is like tables.NotFound, for a run.
func noRun(err error, id string) error {
	return tables.NotFound(err, mapping.CodeRunNotFound, "run", id)
}

// noTask is like tables.NotFound, for a task.
func noTask(err error, id string) error {
	return tables.NotFound(err, mapping.CodeTaskNotFound, "task", id)
}
