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
		return "", fmt.Errorf("no temporary folder can be created in %s: %w. Set TMPDIR to a writable folder", os.TempDir(), ReasonOf(err))
	}
	return folder, nil
}

// ReasonOf strips the path and the system call from an error about a file.
func ReasonOf(err error) error {
	if p := (*os.PathError)(nil); errors.As(err, &p) {
		return p.Err
	}
	return err
}

// Standard stands for standard input or output in place of a file name.
const Standard = "-"
