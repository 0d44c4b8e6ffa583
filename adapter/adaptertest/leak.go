package adaptertest

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

// Main is for a package's TestMain: it runs the tests and then the functions after them, and fails where a goroutine of
// theirs is left.
func Main(m *testing.M, after ...func()) {
	WaitTogether()
	goleak.VerifyTestMain(patient{m, after})
}

// patient is a run of tests whose goroutines have time to end: goleak itself gives them less than half a second, which
// is not enough on a busy machine.
type patient struct {
	m     *testing.M
	after []func()
}

func (p patient) Run() int {
	code := p.m.Run()
	for _, done := range p.after {
		done()
	}
	if code == 0 {
		settle()
	}
	return code
}

// settle returns when no goroutine is left but those of the options, or Patience is over.
func settle(but ...goleak.Option) {
	for late := time.Now().Add(Patience); goleak.Find(but...) != nil && time.Now().Before(late); {
	}
}
