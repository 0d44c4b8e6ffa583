package operate

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// pullProofs has the proofs of keys about v1 clients that request steps.
var pullProofs = map[string]func(*testing.T){
	"agents.*.stepping.mode": func(t *testing.T) {
		for mode, want := range map[string][2]int{"lockstep": {3, 1}, "free": {3, 3}, "run": {1, 3}} {
			agent := adaptertest.NewStepAgent(adaptertest.Plain)
			r := rig.Configured(t, "agents: {a: {url: $A, stepping: {mode: "+mode+"}}}", map[string]http.Handler{"a": agent})
			task := r.Task(`{"input":"hi"}`)
			r.Do("POST", task+"/steps", "").Want(t, 200)
			rig.Eventually(t, mode+": the work for one POST", func() bool { return agent.Work() >= want[1] })
			after := agent.Work()
			rest := r.Steps(task, 5)
			if n := 1 + len(rest); mode != "run" && n != want[0] || after != want[1] {
				t.Errorf("%s: %d steps, of them %d for the first POST; want %v: %+v", mode, n, after, want, rest)
			}
		}
	},
	"agents.*.stepping.idle": func(t *testing.T) {
		agent := adaptertest.NewStepAgent(adaptertest.Plain)
		r := rig.Configured(t, "agents: {a: {url: $A, stepping: {mode: lockstep, idle: 50ms}}}", map[string]http.Handler{"a": agent})
		task := r.Task(`{"input":"hi"}`)
		r.Do("POST", task+"/steps", "").Want(t, 200, `"is_last":false`)
		thread := strings.TrimPrefix(task, "/ap/v1/agent/tasks/")
		rig.Eventually(t, "a run without requests for steps ends", func() bool {
			return strings.Contains(r.Do("GET", "/threads/"+thread+"/runs", "").String(), `"status":"interrupted"`)
		})
	},
	"agents.*.stepping.auto_answer": func(t *testing.T) {
		agent := &adaptertest.StepAgent{Kind: adaptertest.AutoGPT, Script: []adaptertest.ScriptStep{
			{Output: `"Which?"`, Additional: `{"use_tool":{"name":"ask_user","arguments":{"question":"Which?"}}}`}, {Output: `"thanks"`, Last: true},
		}}
		r := rig.Configured(t, "agents: {a: {url: $A, stepping: {auto_answer: surprise me}}}", map[string]http.Handler{"a": agent})
		r.Steps(r.Task(`{"input":"hi"}`), 3)
		if in := agent.Inputs(); len(in) != 2 || !strings.Contains(in[1], "surprise me") {
			t.Errorf("the agent received %q", in)
		}
	},
	"agents.*.stepping.follow_up_runs": func(t *testing.T) {
		for allowed, runs := range map[string]int{"true": 2, "false": 1} {
			r := rig.Configured(t, "agents: {a: {url: $A, stepping: {mode: free, follow_up_runs: "+allowed+"}}}", map[string]http.Handler{"a": adaptertest.NewStepAgent(adaptertest.Plain)})
			task := r.Task(`{"input":"hi"}`)
			r.Steps(task, 5)
			r.Do("POST", task+"/steps", `{"input":"and something else"}`).Want(t, 200)
			list := r.Do("GET", "/threads/"+strings.TrimPrefix(task, "/ap/v1/agent/tasks/")+"/runs", "").Want(t, 200)
			if n := strings.Count(list.String(), `"run_id":"`); n < runs || runs == 1 && strings.Count(list.String(), `"created_at"`) != 1 {
				t.Errorf("%s: %s", allowed, list.String())
			}
		}
	},
}

// fileProofs has the proofs of keys about files in states and artifacts.
var fileProofs = map[string]func(*testing.T){
	"agents.*.artifacts.path": func(t *testing.T) {
		for mode, texts := range map[string][]string{
			"whole":  {`"file_name":"result.txt"`, `"relative_path":"out/result.txt"`},
			"folder": {`"file_name":"result.txt"`, `"relative_path":"out/"`},
		} {
			r := rig.Configured(t, "agents: {a: {url: $A, artifacts: {path: "+mode+"}}}", map[string]http.Handler{"a": adaptertest.NewStepAgent(adaptertest.Plain)})
			task := r.Task(`{"input":"hi"}`)
			r.Steps(task, 5)
			r.Do("GET", task+"/artifacts", "").Want(t, 200, texts...)
		}
	},
	"agents.*.artifacts.style": func(t *testing.T) {
		for style, text := range map[string]string{"object": `"/out/result.txt":{"content":"42"`, "string": `"/out/result.txt":"42"`} {
			r := rig.Configured(t, "agents: {a: {url: $A, artifacts: {style: "+style+"}}}", map[string]http.Handler{"a": adaptertest.NewStepAgent(adaptertest.Plain)})
			r.Wait("hi").Want(t, 200, text)
		}
	},
	"agents.*.artifacts.exclude": func(t *testing.T) {
		for exclude, n := range map[string]int{"[]": 1, "['out/*']": 0} {
			for name, agent := range map[string]http.Handler{
				"taskstep":  adaptertest.NewStepAgent(adaptertest.Plain),
				"threadrun": filesAgent(),
			} {
				r := rig.Configured(t, "agents: {a: {url: $A, artifacts: {exclude: "+exclude+"}}}", map[string]http.Handler{"a": agent})
				task := r.Task(`{"input":"hi"}`)
				r.Steps(task, 9)
				if got := strings.Count(r.Do("GET", task+"/artifacts", "").Want(t, 200).String(), `"artifact_id"`); got != n {
					t.Errorf("%s, exclude %s: %d artifacts, want %d", name, exclude, got, n)
				}
			}
		}
	},
	"agents.*.artifacts.max_inline": func(t *testing.T) {
		for limit, text := range map[string]string{"2": `"content":"42"`, "1": `"artifact_id":"`} {
			r := rig.Configured(t, "agents: {a: {url: $A, artifacts: {max_inline: "+limit+"}}}", map[string]http.Handler{"a": adaptertest.NewStepAgent(adaptertest.Plain)})
			got := r.Wait("hi").Want(t, 200, text)
			if limit == "1" && strings.Contains(got.String(), `"content":"42"`) {
				t.Errorf("a file above the limit is in the state: %s", got.String())
			}
		}
	},
}

// filesAgent is a thread/run agent that writes out/result.txt.
func filesAgent() http.Handler {
	values := `{"messages":[],"files":{"/out/result.txt":{"content":"42"}}}`
	return &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{{
		Frames: []string{
			`metadata {"run_id":"{{run}}","attempt":1}`,
			`updates {"work":` + values + `}`,
			`values ` + values,
		},
		State: fmt.Sprintf(`{"values":%s,"next":[],"tasks":[],"metadata":{"source":"loop","step":1},"created_at":"2026-11-21T05:04:19.726Z","checkpoint":{"thread_id":"{{thread}}","checkpoint_id":"{{checkpoint}}","checkpoint_ns":""},"parent_checkpoint":null}`, values),
	}}}
}
