package adaptertest

import (
	"net/http"
	"testing"

	"github.com/apbridge/apbridge/adapter"
)

// Peer is a scripted agent.
type Peer interface {
	http.Handler
	// Work counts what must not happen twice: steps executed, runs begun.
	Work() int
}

// Failure is a peer whose run must end in an error of one code.
type Failure struct {
	Name string
	Peer func() Peer
	Code string
}

// Suite is what a dialect gives to have its backend checked. Every field but Asks and Fails is needed.
type Suite struct {
	Dial func(adapter.Upstream) (adapter.Backend, error)
	// Works makes at least three outputs and ends well.
	Works func() Peer
	// Asks ends with a question to a person.
	Asks func() Peer
	// Hangs accepts the run and then says nothing until its client has left.
	Hangs func() Peer
	Fails []Failure
	// Rework is the work that picking a run up from its log may begin again, usually none.
	Rework int
}

// TestBackend checks the contract of adapter.Backend. The caller must not be a parallel test: leaked goroutines are
// looked for.
func TestBackend(t *testing.T, s Suite) {
	t.Run("Order", s.testOrder)
	t.Run("Asks", s.testAsks)
	t.Run("StopsWhenYieldSaysFalse", s.testYieldFalse)
	t.Run("StopsWithContext", s.testContext)
	t.Run("EndedContext", s.testEndedContext)
	t.Run("PickedUpAsksNothingTwice", s.testAfter)
	t.Run("C2SendsNothingWithoutAPermit", s.testPermit)
	t.Run("A9NoServerThere", s.testRefused)
	t.Run("A10GatewayAnswers", s.testGateway)
	t.Run("Fails", s.testFails)
	t.Run("Concurrent", s.testConcurrent)
}
