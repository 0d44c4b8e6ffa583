package service

import (
	"iter"

	"github.com/apbridge/apbridge/mapping"
)

// those completes the entries of a list with one query for each, and skips entries that have been deleted.
func those[T, R any](list iter.Seq2[T, error], complete func(T) (R, error)) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		for one, err := range list {
			var done R
			if err == nil {
				done, err = complete(one)
			}
			if notFound(err) {
				continue
			}
			if !yield(done, err) || err != nil {
				return
			}
		}
	}
}

func notFound(err error) bool { return err != nil && mapping.Classify(err).Class == mapping.NotFound }
