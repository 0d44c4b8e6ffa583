package console

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/outfile"
)

// lockBeside returns the lock file of the database that a file is or belongs to, or "".
func lockBeside(file string) string {
	for _, of := range []string{"", "-wal", "-shm", "-journal", "-lock", ".new"} {
		if database, ok := strings.CutSuffix(file, of); ok {
			if _, err := os.Stat(database + "-lock"); err == nil {
				return database + "-lock"
			}
		}
	}
	return ""
}

// Draft begins a file for a database. It refuses files that are, or belong to, an existing database, even with --force.
func Draft(file string, over bool) (*outfile.Draft, error) {
	if lock := lockBeside(file); lock != "" {
		return nil, Misuse(fmt.Sprintf("%s is the database of a bridge or belongs to one (%s exists), or its name is reserved for one; choose another file", file, filepath.Base(lock)))
	}
	d, err := outfile.NewDraft(file, over)
	if errors.Is(err, outfile.ErrThere) {
		return nil, Misuse(file + " already exists; choose another file, or overwrite it with --force")
	}
	return d, err
}
