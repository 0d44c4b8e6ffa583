package adapter

import "iter"

// A Service returns long lists as iterators. An error is the last value that they yield.

// All reads a short list into memory. It returns the list's error.
func All[T any](list iter.Seq2[T, error]) (all []T, err error) {
	for one, err := range list {
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// List returns a list of the given entries.
func List[T any](entries []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, one := range entries {
			if !yield(one, nil) {
				return
			}
		}
	}
}

// NoList returns a list that only yields an error.
func NoList[T any](err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		yield(none, err)
	}
}

// PageOf returns at most limit entries of a list from offset on. A limit of 0 means all.
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
