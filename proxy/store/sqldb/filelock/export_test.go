package filelock

import "os"

// Descriptors are the open files that hold the locks.
func (l *Lock) Descriptors() []*os.File { return []*os.File{l.name, l.file} }
