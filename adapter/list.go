package adapter

import "iter"

// Lists of a Service that may be long are ranged over. An error is the last that they yield.

// All reads a list that is short into memory. The error is the list's.
func All[T any](list iter.Seq2[T, error]) (all []T, err error) {
	for one, err := range list {
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// List returns a list of entries that are in memory.
func List[T any](entries []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, one := range entries {
			if !yield(one, nil) {
				return
			}
		}
	}
}

// NoList returns a list that cannot be read.
func NoList[T any](err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		yield(none, err)
	}
}

// PageOf returns at most limit entries of a list from offset on; a limit of 0 is all of them.
func PageOf[T any](list []T, offset, limit int) []T {
	if offset >= len(list) {
		return nil
	}
	list = list[offset:]
	if limit > 0 && limit < len(list) {
		list = list[:limit]
	}
	return list
}
