package filelock

import "os"

// Descriptors returns the open files that hold the locks.
func (l *Lock) Descriptors() []*os.File { return []*os.File{l.name, l.file} }
