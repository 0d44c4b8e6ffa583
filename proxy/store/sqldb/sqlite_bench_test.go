package sqldb

import (
	"fmt"
	"sync"
	"testing"
)

// BenchmarkWriters measures concurrent writes to a real file.
func BenchmarkWriters(b *testing.B) {
	for _, callers := range []int{1, 4, 16, 64} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			s := fresh(b)
			value := make([]byte, 200)
			var wg sync.WaitGroup
			for caller := range callers {
				wg.Go(func() {
					for i := caller; i < b.N; i += callers {
						ok(b, putItem(s, fmt.Sprint(caller), value))
					}
				})
			}
			wg.Wait()
		})
	}
}
