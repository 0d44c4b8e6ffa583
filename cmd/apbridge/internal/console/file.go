package console

import (
	"errors"
	"fmt"
	"os"
)

// TemporaryFolder makes a folder in the system's folder for temporary files.
func TemporaryFolder(pattern string) (string, error) {
	folder, err := os.MkdirTemp("", pattern)
	if err != nil {
		return "", fmt.Errorf("no temporary folder can be made in %s: %w. Set TMPDIR to a folder that can be written to", os.TempDir(), ReasonOf(err))
	}
	return folder, nil
}

// ReasonOf returns an error of a file without the path and the system call.
func ReasonOf(err error) error {
	if p := (*os.PathError)(nil); errors.As(err, &p) {
		return p.Err
	}
	return err
}

// Standard is how a command line names standard input or output in the place of a file.
const Standard = "-"
