package serve

import (
	"runtime/debug"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
)

// Not parallel: GOGC is the process's.
func TestGOGCOfTheEnvironmentIsLeftAlone(t *testing.T) {
	const usual = 123
	before := debug.SetGCPercent(usual)
	defer debug.SetGCPercent(before)
	for _, tt := range []struct {
		environ []string
		want    int
	}{
		{nil, gcPercent},
		{[]string{"GOMEMLIMIT=1GiB"}, gcPercent},
		{[]string{"A=b", "GOGC=50"}, usual},
		{[]string{"GOGC=off"}, usual},
	} {
		debug.SetGCPercent(usual)
		p := program{&console.Process{Environ: tt.environ}}
		p.setCollector()
		if got := debug.SetGCPercent(usual); got != tt.want {
			t.Errorf("%v: GOGC is %d, want %d", tt.environ, got, tt.want)
		}
	}
}
