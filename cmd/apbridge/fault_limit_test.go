package main

import (
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/config"
)

// TestA18_GraphNeverEnds: a graph is stopped at max_steps by the bridge, whether
// or not its server minds a recursion_limit (this one does not), also when each
// step is a request of its own. What needs no more than that succeeds.
func TestA18_GraphNeverEnds(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		plays   []adaptertest.ThreadPlay
		mode    func(*config.Agent)
		max     int
		want    any
		outputs int
	}{
		"free, above":       {[]adaptertest.ThreadPlay{adaptertest.ChatPlay()}, free, 2, "step_limit", 2},
		"free, just":        {[]adaptertest.ThreadPlay{adaptertest.ChatPlay()}, free, 3, nil, 3},
		"lockstep, above":   {adaptertest.StepPlays(), lockstep, 2, "step_limit", 2},
		"lockstep, just":    {adaptertest.StepPlays(), lockstep, 3, nil, 3},
		"one step, above":   {[]adaptertest.ThreadPlay{adaptertest.ChatPlay()}, whole, 2, "step_limit", 0},
		"one step, just":    {[]adaptertest.ThreadPlay{adaptertest.ChatPlay()}, whole, 3, nil, 1},
		"at its very start": {[]adaptertest.ThreadPlay{adaptertest.ChatPlay()}, free, 1, "step_limit", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.plays[len(tt.plays)-1].Hang = tt.want != nil // so that there is something to stop
			agent := &adaptertest.ThreadAgent{Plays: tt.plays}
			b := inFront(t, agent, tt.mode, func(a *config.Agent) { a.MaxSteps = tt.max })
			task := b.post("/ap/v1/agent/tasks", `{"input":"hi"}`).ok().text("task_id")
			steps := pullAll(t, b, "/ap/v1/agent/tasks/"+task, "")
			last := steps[len(steps)-1]
			if got := last.at("additional_output.error.type"); got != tt.want {
				t.Fatalf("it ended with %v, want %v: %s", got, tt.want, last.body)
			}
			outputs := len(steps)
			status := "idle"
			if tt.want != nil {
				outputs, status = outputs-1, "error"
				if message := last.text("additional_output.error.message"); !says(message, `"agent"`, "max_steps") {
					t.Errorf("message %q", message)
				}
				eventually(t, "the graph is told to stop", func() bool { return agent.Calls("POST /threads/{t}/runs/{r}/cancel") == 1 })
			}
			if outputs != tt.outputs {
				t.Errorf("%d outputs were handed out, want %d", outputs, tt.outputs)
			}
			b.expect("/threads/"+task, "status", status)
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
			b := inFront(t, agent)
			got := b.post("/runs/wait", `{"assistant_id":"agent","config":{"recursion_limit":2},`+saysHi+`}`).ok()
			if got.at("__error__.error") != "step_limit" || !says(got.text("__error__.message"), "2 steps", "recursion_limit") {
				t.Errorf("answered %s", got.body)
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

// TestA18_RunThatLogsForEver: max_steps counts no tokens and no custom frames. A run of either kind of
// agent is stopped when it has logged as much as it may, and the agent is told.
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
			cfg := configFor(t, map[string]config.Agent{"agent": agentAt(adaptertest.Serve(t, tt.agent).URL, func(a *config.Agent) { a.Retries = 3 })})
			tt.limits(&cfg.Limits)
			b := startBridge(t, cfg)
			at := b.thread()
			got := b.post(at+"/runs/wait", `{"assistant_id":"agent",`+saysHi+`}`).ok()
			if got.at("__error__.error") != "event_limit" || !says(got.text("__error__.message"), tt.says) {
				t.Errorf("answered %s", got.body)
			}
			b.expect(at, "status", "error")
			if graph, ok := tt.agent.(*adaptertest.ThreadAgent); ok {
				eventually(t, "the graph is told to stop", func() bool { return graph.Calls("POST /threads/{t}/runs/{r}/cancel") == 1 })
			}
		})
	}
}
