package main

import (
	"encoding/json"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/google/go-cmp/cmp"
)

// constructors are values from which some deserialisers make objects, read secrets or run
// code. Here they are JSON like any other.
const constructors = `{"made":{"lc":1,"type":"constructor","id":["langchain","llms","OpenAI"],"kwargs":{"model":"x"}},` +
	`"secret":{"lc":1,"type":"secret","id":["PATH"]},"not":{"lc":2,"type":"not_implemented","id":["os","system"],"repr":"x"},` +
	`"pickle":{"__reduce__":["os.system",["true"]],"py/object":"os.system","py/reduce":[]},"bytes":{"__type":"msgpack_ext","code":5,"data":"gASVDgAAAAAAAACMAm9zlC4="},` +
	`"proto":{"__proto__":{"admin":true},"constructor":{"prototype":{}}},"deep":[[{"lc":1,"type":"constructor","id":["builtins","eval"],"kwargs":{}}]]}`

// TestE23_ConstructorsAreCarried: by the store, by metadata, by a state that a client
// writes, by a graph's state and by a step's output: as they were written, and nothing else.
func TestE23_ConstructorsAreCarried(t *testing.T) {
	t.Parallel()
	var want any
	if err := json.Unmarshal([]byte(constructors), &want); err != nil {
		t.Fatal(err)
	}
	carried := func(t *testing.T, where string, got any) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", where, diff)
		}
	}
	t.Run("step agent", func(t *testing.T) {
		t.Parallel()
		agent := &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{{Output: constructors, Additional: constructors, Last: true}}}
		b := inFront(t, agent)
		b.do("PUT", "/store/items", `{"namespace":["n"],"key":"k","value":`+constructors+`}`).ok()
		carried(t, "the store", b.get("/store/items?namespace=n&key=k").ok().at("value"))
		thread := "/threads/" + b.post("/threads", `{"metadata":{"m":`+constructors+`}}`).ok().text("thread_id")
		carried(t, "metadata", b.get(thread).ok().at("metadata.m"))
		b.post(thread+"/state", `{"values":{"held":`+constructors+`}}`).ok()
		carried(t, "a state that was written", b.get(thread+"/state").ok().at("values.held"))
		task := "/ap/v1/agent/tasks/" + b.post("/ap/v1/agent/tasks", `{"input":"hi","additional_input":{"x":`+constructors+`}}`).ok().text("task_id")
		step := b.post(task+"/steps", "").ok()
		var output any
		if err := json.Unmarshal([]byte(step.text("output")), &output); err != nil {
			t.Errorf("a step's output is %q", step.text("output"))
		}
		carried(t, "a step's output", output)
		additional, _ := step.at("additional_output").(map[string]any)
		delete(additional, "upstream_step_id")
		carried(t, "a step's additional output", any(additional))
		carried(t, "a task's additional input", b.get(task).ok().at("additional_input.x"))
	})
	t.Run("graph", func(t *testing.T) {
		t.Parallel()
		b := inFront(t, &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{{
			Frames: []string{`metadata {"run_id":"{{run}}","attempt":1}`, `updates {"plan":{"held":` + constructors + `}}`, `values {"messages":[],"held":` + constructors + `}`},
			State: `{"values":{"messages":[],"held":` + constructors + `},"next":[],"tasks":[],"metadata":{"run_id":"{{run}}","source":"loop","step":1},` +
				`"checkpoint":{"thread_id":"{{thread}}","checkpoint_id":"{{checkpoint}}","checkpoint_ns":""}}`,
		}}})
		thread := "/threads/" + b.post("/threads", `{}`).ok().text("thread_id")
		_, frames := b.stream("POST", thread+"/runs/stream", `{"assistant_id":"agent","stream_mode":["updates","values"],`+saysHi+`}`, 0)
		carried(t, "an update", lastFrame(t, frames, "updates").at("plan.held"))
		carried(t, "values", lastFrame(t, frames, "values").at("held"))
		carried(t, "a graph's state", b.get(thread+"/state").ok().at("values.held"))
	})
}
