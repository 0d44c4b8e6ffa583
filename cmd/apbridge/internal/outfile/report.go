package outfile

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Report is the File of a report of type R. Not for concurrent use.
type Report[R any] struct {
	*File
	flag  string
	write func(R, io.Writer) error
}

// OpenReport opens the file that a flag names. write may be nil if Finish is not called.
func OpenReport[R any](flag, name string, write func(R, io.Writer) error) (*Report[R], error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	return &Report[R]{f, flag, write}, nil
}

// Finish writes the report and closes the file.
func (f *Report[R]) Finish(r R) error {
	if err := f.Begin(); err != nil {
		return errors.Join(err, f.Close())
	}
	return errors.Join(f.write(r, f.File), f.Close())
}

// Distinct fails if two flags name the same file, because only the last report would be left. A pipe or a device may
// receive several reports.
func Distinct[R any](list []*Report[R]) error {
	for i, one := range list {
		for _, other := range list[:i] {
			a, errA := one.Stat()
			b, errB := other.Stat()
			switch {
			case errA != nil || errB != nil:
				return errors.Join(errA, errB)
			case a.Mode().IsRegular() && os.SameFile(a, b):
				return fmt.Errorf("flags %s and %s name the same file", other.flag, one.flag)
			}
		}
	}
	return nil
}
