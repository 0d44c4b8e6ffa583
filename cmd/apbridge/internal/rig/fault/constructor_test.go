package fault

import (
	"encoding/json"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/google/go-cmp/cmp"
)

// constructors has values from which some deserialisers create objects, read secrets or run code. The bridge treats
// them as any other JSON.
const constructors = `{"made":{"lc":1,"type":"constructor","id":["langchain","llms","OpenAI"],"kwargs":{"model":"x"}},` +
	`"secret":{"lc":1,"type":"secret","id":["PATH"]},"not":{"lc":2,"type":"not_implemented","id":["os","system"],"repr":"x"},` +
	`"pickle":{"__reduce__":["os.system",["true"]],"py/object":"os.system","py/reduce":[]},"bytes":{"__type":"msgpack_ext","code":5,"data":"gASVDgAAAAAAAACMAm9zlC4="},` +
	`"proto":{"__proto__":{"admin":true},"constructor":{"prototype":{}}},"deep":[[{"lc":1,"type":"constructor","id":["builtins","eval"],"kwargs":{}}]]}`

// TestSerialisedConstructorsAreNotInterpreted checks that serialised constructors in store items, metadata, states and
// step outputs pass through unchanged and are never interpreted.
func TestSerialisedConstructorsAreNotInterpreted(t *testing.T) {
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
		b := rig.InFront(t, agent)
		b.Do("PUT", "/store/items", `{"namespace":["n"],"key":"k","value":`+constructors+`}`).OK()
		carried(t, "the store", b.Get("/store/items?namespace=n&key=k").OK().At("value"))
		thread := "/threads/" + b.Post("/threads", `{"metadata":{"m":`+constructors+`}}`).OK().Text("thread_id")
		carried(t, "metadata", b.Get(thread).OK().At("metadata.m"))
		b.Post(thread+"/state", `{"values":{"held":`+constructors+`}}`).OK()
		carried(t, "a state that was written", b.Get(thread+"/state").OK().At("values.held"))
		task := "/ap/v1/agent/tasks/" + b.Post("/ap/v1/agent/tasks", `{"input":"hi","additional_input":{"x":`+constructors+`}}`).OK().Text("task_id")
		step := b.Post(task+"/steps", "").OK()
		var output any
		if err := json.Unmarshal([]byte(step.Text("output")), &output); err != nil {
			t.Errorf("the step's output is %q", step.Text("output"))
		}
		carried(t, "a step's output", output)
		additional, _ := step.At("additional_output").(map[string]any)
		delete(additional, "upstream_step_id")
		carried(t, "a step's additional output", any(additional))
		carried(t, "a task's additional input", b.Get(task).OK().At("additional_input.x"))
	})
	t.Run("graph", func(t *testing.T) {
		t.Parallel()
		b := rig.InFront(t, &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{{
			Frames: []string{`metadata {"run_id":"{{run}}","attempt":1}`, `updates {"plan":{"held":` + constructors + `}}`, `values {"messages":[],"held":` + constructors + `}`},
			State: `{"values":{"messages":[],"held":` + constructors + `},"next":[],"tasks":[],"metadata":{"run_id":"{{run}}","source":"loop","step":1},` +
				`"checkpoint":{"thread_id":"{{thread}}","checkpoint_id":"{{checkpoint}}","checkpoint_ns":""}}`,
		}}})
		thread := "/threads/" + b.Post("/threads", `{}`).OK().Text("thread_id")
		_, frames := b.Stream("POST", thread+"/runs/stream", `{"assistant_id":"agent","stream_mode":["updates","values"],`+rig.SaysHi+`}`, 0)
		carried(t, "an update", rig.LastFrame(t, frames, "updates").At("plan.held"))
		carried(t, "values", rig.LastFrame(t, frames, "values").At("held"))
		carried(t, "a graph's state", b.Get(thread+"/state").OK().At("values.held"))
	})
}
