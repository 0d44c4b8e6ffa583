package backend

import (
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
)

const (
	routeStart  = "POST /threads/{t}/runs/stream"
	routeThread = "POST /threads"
	routeState  = "GET /threads/{t}/state"
	routeJoin   = "GET /threads/{t}/runs/{r}/stream"
	routeCancel = "POST /threads/{t}/runs/{r}/cancel"
	routeRun    = "GET /threads/{t}/runs/{r}"
	routeList   = "GET /threads/{t}/runs"
	routeUpdate = "POST /threads/{t}/state"
	routeGraph  = "POST /assistants/search"
)

// quick is dial with short pauses.
func quick(up adapter.Upstream) (adapter.Backend, error) {
	b, err := newBackend(up)
	if err != nil {
		return nil, err
	}
	ms := time.Millisecond
	b.pause = pauses{rejoin: []time.Duration{ms, ms, ms}, busy: []time.Duration{ms, ms, ms}, settle: 20 * ms}
	return b, nil
}

func playing(plays ...adaptertest.ThreadPlay) *adaptertest.ThreadAgent {
	return &adaptertest.ThreadAgent{Plays: plays}
}

// TestBackend is not parallel, because it checks for leaked goroutines.
func TestBackend(t *testing.T) {
	adaptertest.TestBackend(t, adaptertest.Suite{
		Dial:  quick,
		Works: func() adaptertest.Peer { return playing(adaptertest.ChatPlay()) },
		Asks:  func() adaptertest.Peer { return playing(adaptertest.AskPlay()) },
		Hangs: func() adaptertest.Peer { return playing(adaptertest.HangPlay()) },
		Fails: failures(),
	})
}

// failures are the faults A9 to A17, as far as an agent can cause them.
func failures() []adaptertest.Failure {
	page := "<html><body>Bad gateway canary-7f3a91c2</body></html>"
	canned := func(route string, c adaptertest.Canned) func() adaptertest.Peer {
		return func() adaptertest.Peer {
			a := playing(adaptertest.ChatPlay())
			a.Canned = map[string]*adaptertest.Canned{route: &c}
			return a
		}
	}
	making := func(c adaptertest.Canned) func() adaptertest.Peer {
		return func() adaptertest.Peer {
			a := canned(routeThread, c)().(*adaptertest.ThreadAgent)
			a.NoCreate = true
			return a
		}
	}
	frames := func(list ...string) func() adaptertest.Peer {
		return func() adaptertest.Peer { return playing(adaptertest.ThreadPlay{Frames: list}) }
	}
	return []adaptertest.Failure{
		{Name: "A14_HTML500", Peer: canned(routeStart, adaptertest.Canned{Status: 500, Type: "text/html", Body: page}), Code: mapping.CodeUpstreamError},
		{Name: "A14_401WithTheKey", Peer: making(adaptertest.Canned{Status: 401, Type: "text/plain", Body: "bad key Bearer " + adaptertest.Canary}), Code: mapping.CodeUpstreamError},
		{Name: "A14_400WithTheKey", Peer: making(adaptertest.Canned{Status: 400, Type: "text/plain", Body: "who is " + adaptertest.Canary}), Code: mapping.CodeUpstreamError},
		{Name: "A15_ThreadIsNotJSON", Peer: making(adaptertest.Canned{Status: 200, Type: "application/json", Body: "{"}), Code: mapping.CodeBadUpstream},
		{Name: "A15_ThreadWithoutID", Peer: making(adaptertest.Canned{Status: 200, Type: "application/json", Body: `{}`}), Code: mapping.CodeBadUpstream},
		{Name: "A15_ThreadIDIsANumber", Peer: making(adaptertest.Canned{Status: 200, Type: "application/json", Body: `{"thread_id":7}`}), Code: mapping.CodeBadUpstream},
		{Name: "A15_StreamIsAPage", Peer: canned(routeStart, adaptertest.Canned{Status: 200, Type: "text/html", Body: page}), Code: mapping.CodeBadUpstream},
		{Name: "A15_FrameIsNotJSON", Peer: frames(`metadata {"run_id":"{{run}}"}`, `values {"messages":`), Code: mapping.CodeBadUpstream},
		{Name: "A15_ValuesIsAList", Peer: frames(`values [1]`), Code: mapping.CodeBadUpstream},
		{Name: "A15_UpdatesIsAList", Peer: frames(`updates [1]`), Code: mapping.CodeBadUpstream},
		{Name: "A15_CheckpointWithoutMetadata", Peer: frames(`checkpoints {"values":{},"metadata":7,"next":[]}`), Code: mapping.CodeBadUpstream},
		{Name: "A15_StateIsNotJSON", Peer: func() adaptertest.Peer {
			a := playing(adaptertest.AskPlay())
			a.Canned = map[string]*adaptertest.Canned{routeState: {Status: 200, Type: "application/json", Body: "no"}}
			return a
		}, Code: mapping.CodeBadUpstream},
		{Name: "E12_Redirect", Peer: making(adaptertest.Canned{Status: 307, Header: map[string]string{"Location": "http://127.0.0.1:1/"}}), Code: mapping.CodeUpstreamError},
		{Name: "A13_Overloaded", Peer: making(adaptertest.Canned{Status: 429, Type: "text/plain", Body: "later"}), Code: mapping.CodeUpstreamError},
		{Name: "NoGraphs", Peer: canned(routeGraph, adaptertest.Canned{Status: 200, Type: "application/json", Body: `[]`}), Code: mapping.CodeUpstreamError},
		{Name: "AgentFails", Peer: func() adaptertest.Peer { return playing(adaptertest.FailPlay()) }, Code: mapping.CodeUpstreamError},
		{Name: "StepLimit", Peer: func() adaptertest.Peer {
			return playing(adaptertest.ThreadPlay{Frames: []string{`error {"error":"GraphRecursionError","message":"Recursion limit of 21 reached"}`}, Status: "error"})
		}, Code: mapping.CodeStepLimit},
		{Name: "A11_DiesForGood", Peer: func() adaptertest.Peer {
			p := adaptertest.ChatPlay()
			p.CutAfter = []int{3, 0, 0, 0, 0, 0, 0, 0, 0, 0}
			return playing(p)
		}, Code: mapping.CodeOutcomeUnknown},
		{Name: "A17_RunForgotten", Peer: func() adaptertest.Peer {
			p := adaptertest.ChatPlay()
			p.CutAfter = []int{3}
			a := playing(p)
			a.Canned = map[string]*adaptertest.Canned{routeJoin: {Status: 404, Type: "text/plain", Body: "Run not found"}}
			return a
		}, Code: mapping.CodeUpstreamLost},
	}
}
