package tables

import (
	"database/sql"
	"errors"

	"github.com/apbridge/apbridge/mapping"
)

// NotFound returns the NotFound error that names the missing object if err is sql.ErrNoRows. Otherwise it returns err.
func NotFound(err error, code, noun, id string) error {
	if errors.Is(err, sql.ErrNoRows) {
		return mapping.Errorf(mapping.NotFound, code, "There is no %s %q.", noun, id)
	}
	return err
}

// NoThread is like NotFound, for a thread.
func NoThread(err error, id string) error {
	return NotFound(err, mapping.CodeThreadNotFound, "thread", id)
}
