package console

import (
	"errors"
	"fmt"
	"os"
)

// TemporaryFolder creates a folder in the system's temporary folder.
func TemporaryFolder(pattern string) (string, error) {
	folder, err := os.MkdirTemp("", pattern)
	if err != nil {
		return "", fmt.Errorf("no temporary folder can be made in %s: %w. Set TMPDIR to a folder that can be written to", os.TempDir(), ReasonOf(err))
	}
	return folder, nil
}

// ReasonOf returns an error about a file without the path and the system call.
func ReasonOf(err error) error {
	if p := (*os.PathError)(nil); errors.As(err, &p) {
		return p.Err
	}
	return err
}

// Standard stands for standard input or output in place of a file on a command line.
const Standard = "-"
