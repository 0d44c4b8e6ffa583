package store

import (
	"slices"
	"strconv"
	"testing"
)

// Lists of any length need few statements and keep their values.
func TestListsArePadded(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{0: 0, 1: 1, 2: 2, 3: 4, 5: 8, 1000: 1024, 1 << 14: 1 << 14, 20_000: 20_000} {
		values := make([]string, n)
		for i := range values {
			values[i] = strconv.Itoa(i)
		}
		full := filledUp(values)
		if len(full) != want || !slices.Equal(full[:n], values) || n > 0 && full[want-1] != values[n-1] {
			t.Errorf("%d values became %d", n, len(full))
		}
	}
}
