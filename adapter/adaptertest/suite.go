package adaptertest

import (
	"net/http"
	"testing"

	"github.com/apbridge/apbridge/adapter"
)

// Peer is a scripted agent.
type Peer interface {
	http.Handler
	// Work returns the number of actions that must not happen twice, such as executed steps and created runs.
	Work() int
}

// Failure is a peer whose run must end in an error with the given code.
type Failure struct {
	Name string
	Peer func() Peer
	Code string
}

// Suite describes a dialect whose backend is to be checked. Every field except Asks and Fails is required.
type Suite struct {
	Dial func(adapter.Upstream) (adapter.Backend, error)
	// Works returns a peer that returns at least three outputs and succeeds.
	Works func() Peer
	// Asks returns a peer that ends with a question.
	Asks func() Peer
	// Hangs returns a peer that accepts the run and then sends nothing until its client disconnects.
	Hangs func() Peer
	Fails []Failure
	// Rework is the amount of work that may be repeated when a run is continued from its log, usually none.
	Rework int
}

// TestBackend checks the contract of adapter.Backend. The caller must not be a parallel test, because leaked goroutines
// are detected.
func TestBackend(t *testing.T, s Suite) {
	t.Run("Order", s.testOrder)
	t.Run("Asks", s.testAsks)
	t.Run("StopsWhenYieldReturnsFalse", s.testYieldFalse)
	t.Run("StopsWithContext", s.testContext)
	t.Run("EndedContext", s.testEndedContext)
	t.Run("ContinuedRunRepeatsNoCall", s.testAfter)
	t.Run("SendsNothingWithoutAPermit", s.testPermit)
	t.Run("UnreachableServer", s.testRefused)
	t.Run("GatewayTimesOut", s.testGateway)
	t.Run("Fails", s.testFails)
	t.Run("Concurrent", s.testConcurrent)
}
