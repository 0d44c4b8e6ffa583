package face

import (
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// counting is a client that discards what it reads.
type counting struct {
	http.ResponseWriter
	bytes int
}

func (c *counting) Write(b []byte) (int, error) {
	c.bytes += len(b)
	return len(b), nil
}

// TestLongPagesUseLittleMemory checks that a page with long steps is written piece by piece. It is not parallel
// because it counts allocations.
func TestLongPagesUseLittleMemory(t *testing.T) {
	text := strings.Repeat("x", 100<<10)
	steps := make([]mapping.Step, 2000)
	for i := range steps {
		steps[i] = mapping.Step{ID: "s", TaskID: "t", Status: mapping.StepCompleted, Output: &text}
	}
	to := &counting{ResponseWriter: httptest.NewRecorder()}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	items, total, _ := short(steps, len(steps), nil)
	_, err := writePage(to, "steps", items, layout{}.step, adapter.Page{Number: 1, Size: len(steps)}, total)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; err != nil || to.bytes < len(steps)*len(text) || took > 8<<20 {
		t.Errorf("%d bytes were written with %d allocated, %v", to.bytes, took, err)
	}
}
