package adaptertest

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

// Main is for a package's TestMain. It runs the tests and then the functions in after, and fails if the tests leave a
// goroutine running.
func Main(m *testing.M, after ...func()) {
	WaitTogether()
	goleak.VerifyTestMain(patient{m, after})
}

// patient runs tests and gives their goroutines time to end. goleak itself gives them less than half a second, which is
// not enough on a busy machine.
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

// settle returns when only goroutines allowed by the options are left, or after Patience.
func settle(but ...goleak.Option) {
	for late := time.Now().Add(Patience); goleak.Find(but...) != nil && time.Now().Before(late); {
	}
}
