package backend

import (
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
)

// TestBackend is not parallel, because it checks for leaked goroutines.
func TestBackend(t *testing.T) {
	for _, kind := range adaptertest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			suite := adaptertest.Suite{
				Dial:  func(up adapter.Upstream) (adapter.Backend, error) { return backendWith(t, up), nil },
				Works: func() adaptertest.Peer { return adaptertest.NewStepAgent(kind) },
				Asks:  func() adaptertest.Peer { return asking(kind) },
				Hangs: func() adaptertest.Peer { return faulty(kind, adaptertest.Hang) },
				Fails: failures(kind),
			}
			if kind.Family() == adaptertest.JS || kind == adaptertest.Bee {
				suite.Asks = nil // they cannot ask without additional_output
			}
			adaptertest.TestBackend(t, suite)
		})
	}
}

const askUser = `{"use_tool":{"name":"ask_user","arguments":{"question":"Which colour?"}}}`

// asking asks in its second step.
func asking(kind adaptertest.Kind) *adaptertest.StepAgent {
	a := adaptertest.NewStepAgent(kind)
	a.Script[1] = adaptertest.ScriptStep{Output: `"Which colour?"`, Additional: askUser}
	return a
}

// faulty fails in its second step.
func faulty(kind adaptertest.Kind, f adaptertest.Fault) *adaptertest.StepAgent {
	a := adaptertest.NewStepAgent(kind)
	a.Script[1].Fault = f
	return a
}

func failures(kind adaptertest.Kind) []adaptertest.Failure {
	codes := map[adaptertest.Fault]string{
		adaptertest.HTML500:      mapping.CodeUpstreamError,
		adaptertest.Unauthorized: mapping.CodeUpstreamError,
		adaptertest.Overloaded:   mapping.CodeUpstreamError,
		adaptertest.Redirect:     mapping.CodeUpstreamError,
		adaptertest.BadJSON:      mapping.CodeBadUpstream,
		adaptertest.WrongType:    mapping.CodeBadUpstream,
		adaptertest.NoID:         mapping.CodeBadUpstream,
		adaptertest.WrongTask:    mapping.CodeBadUpstream,
		adaptertest.Huge:         mapping.CodeBadUpstream,
		adaptertest.Forget:       mapping.CodeUpstreamLost,
	}
	var list []adaptertest.Failure
	for fault, code := range codes {
		list = append(list, adaptertest.Failure{
			Name: string(fault), Code: code,
			Peer: func() adaptertest.Peer { return faulty(kind, fault) },
		})
	}
	return list
}
