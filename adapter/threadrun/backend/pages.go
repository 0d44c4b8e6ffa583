package backend

import "github.com/apbridge/apbridge/adapter/upstream"

const (
	// pageLimit is the page size that the backend requests. Aegra refuses more than 100.
	pageLimit = 100
	// maxPages limits the length of an endless list.
	maxPages = 100
)

// pages reads a list page by page, to its end. Some servers ignore the offset, so a page that begins with a known entry
// ends the list.
func pages[T any](page func(offset, limit int) ([]T, error), id func(T) string) ([]T, error) {
	var list []T
	known := map[string]bool{}
	for range maxPages {
		next, err := nextPage(len(list), page)
		if err != nil {
			return nil, err
		}
		if len(next) == 0 || known[id(next[0])] {
			return list, nil
		}
		for _, entry := range next {
			known[id(entry)] = true
		}
		if list = append(list, next...); len(next) < pageLimit {
			return list, nil
		}
	}
	return list, nil
}

// nextPage reads one page. For its list of runs, version 1.4.6 of the JavaScript server treats the limit as the end
// position of the page, so pages after the first 100 runs are empty. So an empty page is requested once more with the
// limit as its end position. If a server refuses that larger limit, its list has ended.
func nextPage[T any](offset int, page func(offset, limit int) ([]T, error)) ([]T, error) {
	next, err := page(offset, pageLimit)
	if err != nil || len(next) > 0 || offset == 0 {
		return next, err
	}
	if next, err = page(offset, offset+pageLimit); upstream.Status(err) != 0 {
		return nil, nil
	}
	return next, err
}
