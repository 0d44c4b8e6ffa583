package fault

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
)

// TestGraphNeverEnds checks that the bridge stops a graph at max_steps, whether or not its server honours
// recursion_limit, and also if each step is a separate request. Runs that need no more steps succeed.
func TestGraphNeverEnds(t *testing.T) {
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
				t.Fatalf("the run ended with %v, want %v: %s", got, tt.want, last.Body)
			}
			outputs := len(steps)
			status := "idle"
			if tt.want != nil {
				outputs, status = outputs-1, "error"
				if message := last.Text("additional_output.error.message"); !rig.Says(message, `"agent"`, "max_steps") {
					t.Errorf("the message is %q", message)
				}
				rig.Eventually(t, "the graph receives the cancellation", func() bool { return agent.Calls("POST /threads/{t}/runs/{r}/cancel") == 1 })
			}
			if outputs != tt.outputs {
				t.Errorf("%d outputs were handed out, want %d", outputs, tt.outputs)
			}
			b.Expect("/threads/"+task, "status", status)
		})
	}
}

// longPlay returns a graph with the given number of supersteps.
func longPlay(steps int) adaptertest.ThreadPlay {
	p := adaptertest.ThreadPlay{Frames: []string{`metadata {"run_id":"{{run}}"}`}}
	values := `{"n":%d}`
	for n := 1; n <= steps; n++ {
		next := `["work"]`
		if n == steps {
			next = `[]`
		}
		state := fmt.Sprintf(values, n)
		p.Frames = append(p.Frames, `updates {"work":`+state+`}`, `values `+state,
			fmt.Sprintf(`checkpoints {"values":%s,"next":%s,"metadata":{"source":"loop","step":%d,"parents":{}}}`, state, next, n))
	}
	p.State = fmt.Sprintf(`{"values":{"n":%d},"next":[],"tasks":[],"metadata":{"source":"loop","step":%d,"run_id":"{{run}}"},`, steps, steps) +
		`"checkpoint":{"thread_id":"{{thread}}","checkpoint_ns":"","checkpoint_id":"{{checkpoint}}"},"parent_checkpoint":null}`
	return p
}

// A graph makes as many steps as it needs, unless the client, the assistant or the operator sets a limit. The smallest
// limit is used, passed to the agent and named in the error. A response reports if the limit is lower than requested.
func TestStepLimitOfAGraph(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		most, request, assistant int
		sent                     any // to the agent, as its recursion_limit
		says                     string
		lossy                    string
	}{
		"nothing is set":                   {sent: nil},
		"the request allows more":          {request: 500, sent: 500.0},
		"the assistant allows more":        {assistant: 400, sent: 400.0},
		"all allow more":                   {most: 151, request: 500, assistant: 400, sent: 152.0, lossy: "config.recursion_limit;approximated"},
		"max_steps allows just enough":     {most: 150, sent: 151.0},
		"the request allows less":          {most: 200, request: 130, assistant: 140, sent: 130.0, says: "130 steps, the most that the request allows"},
		"the assistant allows less":        {request: 500, assistant: 140, sent: 140.0, says: "140 steps, the most that its assistant allows", lossy: "config.recursion_limit;approximated"},
		"the configuration allows less":    {most: 120, request: 500, sent: 121.0, says: "agents.agent.max_steps", lossy: "config.recursion_limit;approximated"},
		"the request and the rest agree":   {most: 150, request: 150, assistant: 150, sent: 150.0},
		"only the configuration sets less": {most: 20, sent: 21.0, says: "20 steps, the most that the bridge's configuration allows (agents.agent.max_steps)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{longPlay(150)}}
			b := rig.InFront(t, agent, func(a *config.Agent) { a.MaxSteps = c.most })
			limit := func(n int) string {
				if n == 0 {
					return `{}`
				}
				return fmt.Sprintf(`{"recursion_limit":%d}`, n)
			}
			id := b.Post("/assistants", `{"graph_id":"agent","config":`+limit(c.assistant)+`}`).OK().Text("assistant_id")
			got := b.Post("/runs/wait", `{"assistant_id":"`+id+`","config":`+limit(c.request)+`,`+rig.SaysHi+`}`).OK()
			if c.says == "" && got.At("n") != 150.0 {
				t.Errorf("the response is %s", got.Body)
			}
			if c.says != "" && (got.At("__error__.code") != "step_limit" || !rig.Says(got.Text("__error__.message"), c.says)) {
				t.Errorf("the response is %s, want %q", got.Body, c.says)
			}
			if lossy := got.Header.Get("X-Apbridge-Unsupported"); lossy != c.lossy {
				t.Errorf("X-Apbridge-Unsupported %q, want %q", lossy, c.lossy)
			}
			var body any
			if err := json.Unmarshal(agent.Bodies(rig.StartRoute)[0], &body); err != nil {
				t.Fatal(err)
			}
			if sent := rig.Dig(body, "config.recursion_limit"); sent != c.sent {
				t.Errorf("the agent received %v, want %v", sent, c.sent)
			}
		})
	}
}

// TestStepLimitOfATaskOfAGraph checks the same for a task of such an agent, in each stepping mode.
func TestStepLimitOfATaskOfAGraph(t *testing.T) {
	t.Parallel()
	const steps = 130
	lockstep := make([]adaptertest.ThreadPlay, steps)
	whole := longPlay(steps)
	for n := range lockstep {
		lockstep[n] = adaptertest.ThreadPlay{Frames: append(whole.Frames[:1:1], whole.Frames[1+3*n:4+3*n]...), State: whole.State}
		if n < steps-1 {
			lockstep[n].State = strings.Replace(whole.State, `"next":[]`, `"next":["work"]`, 1)
			lockstep[n].State = strings.Replace(lockstep[n].State, fmt.Sprintf(`"step":%d`, steps), fmt.Sprintf(`"step":%d`, n+1), 1)
		}
	}
	for name, c := range map[string]struct {
		plays   []adaptertest.ThreadPlay
		mode    func(*config.Agent)
		request int
		want    int
	}{
		"free":                     {[]adaptertest.ThreadPlay{whole}, rig.Free, 0, steps},
		"free, with a limit":       {[]adaptertest.ThreadPlay{whole}, rig.Free, steps, steps},
		"free, with a smaller one": {[]adaptertest.ThreadPlay{whole}, rig.Free, 110, 110},
		"lockstep":                 {lockstep, rig.Lockstep, 0, steps},
		"lockstep, with a limit":   {lockstep, rig.Lockstep, 110, 110},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := rig.InFront(t, &adaptertest.ThreadAgent{Plays: c.plays}, c.mode)
			body := `{"input":"hi"}`
			if c.request > 0 {
				body = fmt.Sprintf(`{"input":"hi","additional_input":{"config":{"recursion_limit":%d}}}`, c.request)
			}
			task := b.Post("/ap/v1/agent/tasks", body).OK().Text("task_id")
			got := rig.PullAtMost(t, b, "/ap/v1/agent/tasks/"+task, "", steps+2)
			last := got[len(got)-1]
			outputs, want := len(got), any(nil)
			if c.want < steps {
				outputs, want = outputs-1, "step_limit"
			}
			if outputs != c.want || last.At("additional_output.error.type") != want {
				t.Errorf("%d outputs, want %d; the last step is %s", outputs, c.want, last.Body)
			}
		})
	}
}

// A task/step agent that never reports its last step is stopped after 100 steps. A request may lower the limit. If it
// tries to raise it, the response reports that.
func TestStepLimitOfATaskStepAgent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		most, request, want int
		says, lossy         string
	}{
		"nothing is set":          {want: 100, says: "agents.agent.max_steps is not set"},
		"the request allows more": {request: 130, want: 100, says: "agents.agent.max_steps is not set", lossy: "config.recursion_limit;approximated"},
		"max_steps allows more":   {most: 120, request: 130, want: 120, says: "(agents.agent.max_steps)", lossy: "config.recursion_limit;approximated"},
		"the request allows less": {most: 120, request: 3, want: 3, says: "the request allows"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{{Output: `"more"`, Repeat: true}}}
			b := rig.InFront(t, agent, func(a *config.Agent) { a.MaxSteps = c.most })
			conf := ""
			if c.request > 0 {
				conf = fmt.Sprintf(`"config":{"recursion_limit":%d},`, c.request)
			}
			got := b.Post("/runs/wait", `{"assistant_id":"agent",`+conf+rig.SaysHi+`}`).OK()
			if agent.Work() != c.want || !rig.Says(got.Text("__error__.message"), fmt.Sprint(c.want, " steps"), c.says) {
				t.Errorf("%d steps, want %d; the response is %.300s", agent.Work(), c.want, got.Body)
			}
			if lossy := got.Header.Get("X-Apbridge-Unsupported"); !strings.Contains(lossy, c.lossy) || c.lossy == "" && strings.Contains(lossy, "recursion_limit") {
				t.Errorf("X-Apbridge-Unsupported %q, want %q", lossy, c.lossy)
			}
		})
	}
}

// TestRecursionLimitOfARequest checks that recursion_limit limits the steps of this run.
func TestRecursionLimitOfARequest(t *testing.T) {
	t.Parallel()
	for name, agent := range map[string]adaptertest.Peer{
		"graph": &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay()}}, "steps": adaptertest.NewStepAgent(adaptertest.Plain),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := rig.InFront(t, agent)
			got := b.Post("/runs/wait", `{"assistant_id":"agent","config":{"recursion_limit":2},`+rig.SaysHi+`}`).OK()
			if got.At("__error__.code") != "step_limit" || !rig.Says(got.Text("__error__.message"), "2 steps", "recursion_limit") {
				t.Errorf("the response is %s", got.Body)
			}
		})
	}
}

// babbling returns a graph that endlessly writes custom frames, which are not steps.
func babbling() *adaptertest.ThreadAgent {
	play := adaptertest.HangPlay()
	for range 200 {
		play.Frames = append(play.Frames, `custom {"text":"0123456789012345678901234567890123456789"}`)
	}
	return &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{play}}
}

// describing returns an A2A agent whose artifacts have little text and long descriptions.
func describing() *adaptertest.A2AAgent {
	return &adaptertest.A2AAgent{Change: func(ev map[string]any) {
		if u, ok := ev["artifactUpdate"].(map[string]any); ok {
			u["artifact"].(map[string]any)["description"] = strings.Repeat("x", 5000)
		}
	}}
}

// TestRunThatLogsTooMuch checks that a run of any kind of agent is stopped when it has logged too much, because
// max_steps does not count tokens and custom frames. The agent is informed.
func TestRunThatLogsTooMuch(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		agent  adaptertest.Peer
		limits func(*config.Limits)
		says   string
	}{
		"events of a graph":     {babbling(), func(l *config.Limits) { l.RunEvents = 100 }, "100 events of one run (limits.run_events)"},
		"bytes of a graph":      {babbling(), func(l *config.Limits) { l.RunBytes = 4000 }, "4000 bytes of events of one run (limits.run_bytes)"},
		"bytes of an A2A agent": {describing(), func(l *config.Limits) { l.RunBytes = 10000 }, "10000 bytes of events of one run (limits.run_bytes)"},
		"events of steps":       {adaptertest.NewStepAgent(adaptertest.Plain), func(l *config.Limits) { l.RunEvents = 3 }, "3 events of one run (limits.run_events)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := rig.ConfigFor(t, map[string]config.Agent{"agent": rig.AgentAt(adaptertest.Serve(t, tt.agent).URL, func(a *config.Agent) { a.Retries = 3 })})
			tt.limits(&cfg.Limits)
			b := rig.StartBridge(t, cfg)
			at := b.Thread()
			got := b.Post(at+"/runs/wait", `{"assistant_id":"agent",`+rig.SaysHi+`}`).OK()
			if got.At("__error__.code") != "event_limit" || !rig.Says(got.Text("__error__.message"), tt.says) {
				t.Errorf("the response is %s", got.Body)
			}
			b.Expect(at, "status", "error")
			if graph, ok := tt.agent.(*adaptertest.ThreadAgent); ok {
				rig.Eventually(t, "the graph receives the cancellation", func() bool { return graph.Calls("POST /threads/{t}/runs/{r}/cancel") == 1 })
			}
		})
	}
}
