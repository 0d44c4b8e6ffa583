package fault

import (
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
)

// TestA18_GraphNeverEnds: a graph is stopped at max_steps by the bridge, whether or not its server minds a
// recursion_limit (this one does not), also when each step is a request of its own. What needs no more than that
// succeeds.
func TestA18_GraphNeverEnds(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		plays   []adaptertest.ThreadPlay
		mode    func(*config.Agent)
		max     int
		want    any
		outputs int
	}{
		"free, above":       {[]adaptertest.ThreadPlay{adaptertest.ChatPlay()}, rig.Free, 2, "step_limit", 2},
		"free, just":        {[]adaptertest.ThreadPlay{adaptertest.ChatPlay()}, rig.Free, 3, nil, 3},
		"lockstep, above":   {adaptertest.StepPlays(), rig.Lockstep, 2, "step_limit", 2},
		"lockstep, just":    {adaptertest.StepPlays(), rig.Lockstep, 3, nil, 3},
		"one step, above":   {[]adaptertest.ThreadPlay{adaptertest.ChatPlay()}, rig.Whole, 2, "step_limit", 0},
		"one step, just":    {[]adaptertest.ThreadPlay{adaptertest.ChatPlay()}, rig.Whole, 3, nil, 1},
		"at its very start": {[]adaptertest.ThreadPlay{adaptertest.ChatPlay()}, rig.Free, 1, "step_limit", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.plays[len(tt.plays)-1].Hang = tt.want != nil // so that there is something to stop
			agent := &adaptertest.ThreadAgent{Plays: tt.plays}
			b := rig.InFront(t, agent, tt.mode, func(a *config.Agent) { a.MaxSteps = tt.max })
			task := b.Post("/ap/v1/agent/tasks", `{"input":"hi"}`).OK().Text("task_id")
			steps := rig.PullAll(t, b, "/ap/v1/agent/tasks/"+task, "")
			last := steps[len(steps)-1]
			if got := last.At("additional_output.error.type"); got != tt.want {
				t.Fatalf("it ended with %v, want %v: %s", got, tt.want, last.Body)
			}
			outputs := len(steps)
			status := "idle"
			if tt.want != nil {
				outputs, status = outputs-1, "error"
				if message := last.Text("additional_output.error.message"); !rig.Says(message, `"agent"`, "max_steps") {
					t.Errorf("message %q", message)
				}
				rig.Eventually(t, "the graph is told to stop", func() bool { return agent.Calls("POST /threads/{t}/runs/{r}/cancel") == 1 })
			}
			if outputs != tt.outputs {
				t.Errorf("%d outputs were handed out, want %d", outputs, tt.outputs)
			}
			b.Expect("/threads/"+task, "status", status)
		})
	}
}

// TestRecursionLimitOfARequest is a max_steps of this run.
func TestRecursionLimitOfARequest(t *testing.T) {
	t.Parallel()
	for name, agent := range map[string]adaptertest.Peer{
		"graph": &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay()}}, "steps": adaptertest.NewStepAgent(adaptertest.Plain),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := rig.InFront(t, agent)
			got := b.Post("/runs/wait", `{"assistant_id":"agent","config":{"recursion_limit":2},`+rig.SaysHi+`}`).OK()
			if got.At("__error__.error") != "step_limit" || !rig.Says(got.Text("__error__.message"), "2 steps", "recursion_limit") {
				t.Errorf("answered %s", got.Body)
			}
		})
	}
}

// babbling is a graph that writes custom frames, which are no steps, and does not end.
func babbling() *adaptertest.ThreadAgent {
	play := adaptertest.HangPlay()
	for range 200 {
		play.Frames = append(play.Frames, `custom {"text":"0123456789012345678901234567890123456789"}`)
	}
	return &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{play}}
}

// TestA18_RunThatLogsForEver: max_steps counts no tokens and no custom frames. A run of either kind of agent is stopped
// when it has logged as much as it may, and the agent is told.
func TestA18_RunThatLogsForEver(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		agent  adaptertest.Peer
		limits func(*config.Limits)
		says   string
	}{
		"events of a graph": {babbling(), func(l *config.Limits) { l.RunEvents = 100 }, "100 events of one run (limits.run_events)"},
		"bytes of a graph":  {babbling(), func(l *config.Limits) { l.RunBytes = 4000 }, "4000 bytes of events of one run (limits.run_bytes)"},
		"events of steps":   {adaptertest.NewStepAgent(adaptertest.Plain), func(l *config.Limits) { l.RunEvents = 3 }, "3 events of one run (limits.run_events)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := rig.ConfigFor(t, map[string]config.Agent{"agent": rig.AgentAt(adaptertest.Serve(t, tt.agent).URL, func(a *config.Agent) { a.Retries = 3 })})
			tt.limits(&cfg.Limits)
			b := rig.StartBridge(t, cfg)
			at := b.Thread()
			got := b.Post(at+"/runs/wait", `{"assistant_id":"agent",`+rig.SaysHi+`}`).OK()
			if got.At("__error__.error") != "event_limit" || !rig.Says(got.Text("__error__.message"), tt.says) {
				t.Errorf("answered %s", got.Body)
			}
			b.Expect(at, "status", "error")
			if graph, ok := tt.agent.(*adaptertest.ThreadAgent); ok {
				rig.Eventually(t, "the graph is told to stop", func() bool { return graph.Calls("POST /threads/{t}/runs/{r}/cancel") == 1 })
			}
		})
	}
}
