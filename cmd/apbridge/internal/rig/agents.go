package rig

import (
	"encoding/json"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/config"
)

// FilePlay returns a run of a graph that thinks and then writes files.
func FilePlay(messages []json.RawMessage, made, state any) adaptertest.ThreadPlay {
	text := func(v any) string { b, _ := json.Marshal(v); return string(b) }
	thought := `{"id":"run-1","type":"ai","content":"I think."}`
	values := `{"messages":[` + string(messages[0]) + `,` + thought + `],"files":` + text(state) + `}`
	return adaptertest.ThreadPlay{
		Frames: []string{
			`metadata {"run_id":"{{run}}","attempt":1}`,
			`updates {"think":{"messages":[` + thought + `]}}`,
			`updates {"write":{"files":` + text(made) + `}}`,
			`values ` + values,
			`checkpoints {"values":` + values + `,"metadata":{"source":"loop","step":2,"parents":{}},"next":[]}`,
		},
		State: `{"values":` + values + `,"next":[],"tasks":[],"metadata":{"graph_id":"agent","thread_id":"{{thread}}","run_id":"{{run}}","source":"loop","step":2,"parents":{}},` +
			`"created_at":"2026-11-21T05:04:19.726Z","checkpoint":{"thread_id":"{{thread}}","checkpoint_id":"{{checkpoint}}","checkpoint_ns":"","checkpoint_map":null},"parent_checkpoint":null}`,
	}
}

// Chats returns a graph that answers each message.
func Chats() adaptertest.Peer {
	return &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay()}}
}

// FaultyStep returns a task/step agent whose second step has the fault.
func FaultyStep(kind adaptertest.Kind, f adaptertest.Fault) func() adaptertest.Peer {
	return func() adaptertest.Peer {
		a := adaptertest.NewStepAgent(kind)
		a.Script[1].Fault = f
		return a
	}
}

// AsThreads configures an agent as a thread/run agent.
func AsThreads(a *config.Agent) { a.Dialect = "threadrun" }

// StartRoute is an agent's route for starting a run with a stream.
const StartRoute = "POST /threads/{t}/runs/stream"

// AgentsAt returns one task/step agent at url, by name.
func AgentsAt(url string) map[string]config.Agent {
	return map[string]config.Agent{"agent": AgentAt(url, func(a *config.Agent) { a.Dialect = "taskstep" })}
}

// EitherKind returns an agent of each kind, by name for subtests.
func EitherKind() map[string]func() adaptertest.Peer {
	return map[string]func() adaptertest.Peer{
		"step agent": func() adaptertest.Peer { return adaptertest.NewStepAgent(adaptertest.Plain) },
		"graph": func() adaptertest.Peer {
			return &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay()}}
		},
	}
}

const (
	OneRun   = `{"assistant_id":"agent",` + SaysHi + `}`
	OtherRun = `{"assistant_id":"agent","input":"something else"}`
	AnAP     = `{"agent_id":"agent","input":"hi"}`
	OtherAP  = `{"agent_id":"agent","input":"something else"}`
	ACron    = `{"assistant_id":"agent","schedule":"0 0 1 1 *",` + SaysHi + `}`
	NoCron   = `{"assistant_id":"agent","schedule":"0 0 2 1 *",` + SaysHi + `}`
	AWord    = `{"input":"hi"}`
	NoWord   = `{"input":"something else"}`
)
