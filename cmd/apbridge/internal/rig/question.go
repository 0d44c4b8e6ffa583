package rig

import (
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/config"
	"github.com/google/go-cmp/cmp"
)

// UnknownQuestion is an id without a question.
const UnknownQuestion = "0123456789abcdef0123456789abcdef"

const asksColour = `{"use_tool":{"name":"ask_user","arguments":{"question":"Which colour?"}}}`

// Curious returns an AutoGPT agent that asks in its second step, times times.
func Curious(times int) *adaptertest.StepAgent {
	asks := adaptertest.ScriptStep{Output: `"I need to know more."`, Additional: asksColour}
	script := []adaptertest.ScriptStep{{Output: `"one"`}}
	for range times {
		script = append(script, asks)
	}
	return &adaptertest.StepAgent{Kind: adaptertest.AutoGPT, Script: append(script, adaptertest.ScriptStep{Output: `"blue it is"`, Last: true})}
}

// Asking returns a graph that asks and then plays the plays.
func Asking(plays ...adaptertest.ThreadPlay) *adaptertest.ThreadAgent {
	return &adaptertest.ThreadAgent{Plays: append([]adaptertest.ThreadPlay{adaptertest.AskPlay()}, plays...)}
}

// CheckAnswered compares the inputs of one task's steps.
func CheckAnswered(t *testing.T, agent *adaptertest.StepAgent, inputs []string) {
	t.Helper()
	if diff := cmp.Diff(inputs, agent.Inputs()); diff != "" {
		t.Errorf("bodies of the agent's steps (-want +got):\n%s", diff)
	}
	if n := agent.Counts().Creates; n != 1 {
		t.Errorf("%d tasks, want 1", n)
	}
}

// ModesWithSteps returns the stepping modes with several steps per run.
func ModesWithSteps() map[string]func(*config.Agent) {
	return map[string]func(*config.Agent){"lockstep": Lockstep, "free": Free}
}
