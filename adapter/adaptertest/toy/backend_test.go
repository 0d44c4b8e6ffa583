package toy

import (
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
)

// TestBackend is not parallel because it detects leaked goroutines.
func TestBackend(t *testing.T) {
	ending := func(how string) func() adaptertest.Peer {
		return func() adaptertest.Peer { return &Agent{Says: []string{"one"}, Ends: how} }
	}
	adaptertest.TestBackend(t, adaptertest.Suite{
		Dial:  dial,
		Works: func() adaptertest.Peer { return &Agent{Says: []string{"one", "two", "three"}} },
		Hangs: func() adaptertest.Peer { return &Agent{Mute: true} },
		Fails: []adaptertest.Failure{
			{Name: "says so", Peer: ending("! \"no\"\n"), Code: mapping.CodeUpstreamError},
			{Name: "breaks off", Peer: ending("\n"), Code: mapping.CodeBadUpstream},
			{Name: "no JSON", Peer: ending("- no\n"), Code: mapping.CodeBadUpstream},
		},
	})
}
