package matrix

import (
	"encoding/json"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/google/go-cmp/cmp"
)

// commanding returns an AutoGPT agent that lists files and ends.
func commanding() *adaptertest.StepAgent {
	return &adaptertest.StepAgent{Kind: adaptertest.AutoGPT, Script: []adaptertest.ScriptStep{
		{Output: `"I look.\n\nNext Command: ls(dir='.')"`, Additional: `{"thoughts":{"speak":"I look."},"use_tool":{"name":"ls","arguments":{"dir":"."}}}`},
		{Output: "\"`ls(dir='.')` returned: a.txt\\n\\nEnough.\\n\\nNext Command: finish(reason='One file')\"",
			Additional: `{"last_action":{"name":"ls","args":{"dir":"."},"result":{"outputs":"a.txt","status":"success"}},"thoughts":{"speak":"Enough."},"use_tool":{"name":"finish","arguments":{"reason":"One file"}}}`},
		{Output: `"One file"`, Last: true},
	}}
}

// TestCommandsAreToolCalls covers one run for all steps, a run for each step, and a POST for each step.
func TestCommandsAreToolCalls(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, messages []any) {
		t.Helper()
		if diff := cmp.Diff([]any{"hi", "I look.", "a.txt", "Enough.", "One file"}, said(messages)); diff != "" {
			t.Fatalf("messages (-want +got):\n%s", diff)
		}
		call := rig.Dig(messages[1], "tool_calls.0.id")
		if call == nil || call != rig.Dig(messages[1], "id") || call != rig.Dig(messages[2], "tool_call_id") || rig.Dig(messages[2], "type") != "tool" {
			t.Errorf("a call and its result: %v", messages[1:3])
		}
	}
	t.Run("run", func(t *testing.T) {
		t.Parallel()
		b := rig.InFront(t, commanding())
		check(t, b.Post(b.Thread()+"/runs/wait", `{"assistant_id":"agent",`+rig.SaysHi+`}`).OK().List("messages"))
	})
	t.Run("lockstep", func(t *testing.T) {
		t.Parallel()
		b := rig.InFront(t, commanding(), rig.Lockstep)
		task := b.Task(`{"input":"hi"}`)
		steps := rig.PullAll(t, b, task, "")
		check(t, b.Get(rig.ThreadOfTask(task)).OK().At("values.messages").([]any))
		if got := steps[1].Text("output"); got != "`ls(dir='.')` returned: a.txt\n\nEnough.\n\nNext Command: finish(reason='One file')" {
			t.Errorf("a harness receives the output %q", got)
		}
	})
}

// TestCommandsInALaterPrompt checks that the prompt of the next turn has the agent's earlier calls and their results.
func TestCommandsInALaterPrompt(t *testing.T) {
	t.Parallel()
	agent := commanding()
	b := rig.InFront(t, agent)
	at := b.Thread()
	b.Post(at+"/runs/wait", `{"assistant_id":"agent",`+rig.SaysHi+`}`).OK()
	b.Post(at+"/runs/wait", `{"assistant_id":"agent",`+rig.SaysMore+`}`).OK()
	var told struct{ Input string }
	if err := json.Unmarshal([]byte(agent.Creates()[1]), &told); err != nil {
		t.Fatal(err)
	}
	const want = "Conversation so far:\n\nUser: hi\nAssistant: I look.\n[Called ls with {\"dir\":\".\"}]\nTool: a.txt\nAssistant: Enough.\nAssistant: One file\n\nCurrent request:\nmore"
	if told.Input != want {
		t.Errorf("the second task's input is %q, want %q", told.Input, want)
	}
}

// said returns the contents of messages.
func said(messages []any) []any { return rig.Pluck(messages, "content") }

// TestOneNameOfTheNode checks that the node has the same name for any names of the agent's steps.
func TestOneNameOfTheNode(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, commanding())
	at := b.Thread()
	res, frames := b.Stream("POST", at+"/runs/stream", `{"assistant_id":"agent","stream_mode":["updates","tasks","messages-tuple"],`+rig.SaysHi+`}`, 0)
	res.OK()
	names := map[any]bool{}
	for _, f := range frames {
		switch f.Event {
		case "updates":
			for node := range f.At("").(map[string]any) {
				names[node] = true
			}
		case "tasks":
			names[f.At("name")] = true
		case "messages":
			names[f.At("1.langgraph_node")] = true
		}
	}
	history := b.Get(at + "/history?limit=20").OK().List("")
	for _, s := range history[1 : len(history)-1] {
		names[rig.Dig(s, "next.0")], names[rig.Dig(s, "tasks.0.name")] = true, true
	}
	names[b.Get("/assistants/agent/graph").OK().At("nodes.1.id")] = true
	if diff := cmp.Diff(map[any]bool{"step": true}, names); diff != "" {
		t.Errorf("names of the node (-want +got):\n%s", diff)
	}
}

// TestFirstMessageCanBeReplaced checks that a thread's history begins with one empty state for every kind of first run,
// so that a client can replace the first message.
func TestFirstMessageCanBeReplaced(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{"words": rig.SaysHi, "words and a file": `"input":{"messages":[{"role":"user","content":"hi"}],"files":{"/a.txt":"x"}}`,
		"words and a file in the message": `"input":{"messages":[{"role":"user","content":"hi"},{"role":"system","content":[{"type":"file","data":"aGk=","filename":"a.txt"}]}]}`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := rig.InFront(t, commanding())
			at := b.Thread()
			b.Post(at+"/runs/wait", `{"assistant_id":"agent",`+first+`}`).OK()
			history := b.Get(at + "/history?limit=20").OK().List("")
			root, _ := rig.Dig(history[len(history)-1], "checkpoint.checkpoint_id").(string)
			if got := history[len(history)-1]; rig.Dig(got, "next.0") != "__start__" || len(rig.Dig(got, "values").(map[string]any)) > 0 || rig.Dig(got, "parent_checkpoint") != nil {
				t.Fatalf("the history begins with %v", got)
			}
			if got := history[len(history)-2]; rig.Dig(got, "parent_checkpoint.checkpoint_id") != root || rig.Dig(got, "values.messages.0.content") != "hi" {
				t.Fatalf("the second state has %v", got)
			}
			again := b.Post(at+"/runs/wait", `{"assistant_id":"agent","checkpoint_id":"`+root+`","input":{"messages":[{"role":"user","content":"other"}]}}`).OK()
			if got := said(again.List("messages")); got[0] != "other" || len(got) != 5 {
				t.Errorf("after the replacement: %v", got)
			}
			if n := len(b.Get(at + "/history?limit=20").OK().List("")); n != 2*rig.InputAndSteps+1 {
				t.Errorf("%d checkpoints, want two turns on one root", n)
			}
		})
	}
}

// TestFailureIsAMessage checks that pages which only show messages show why a run failed, and that the agent does not
// receive this message as its own answer.
func TestFailureIsAMessage(t *testing.T) {
	t.Parallel()
	agent := &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{{Output: `"one"`}, {Fault: adaptertest.HTML500}, {Output: `"two"`, Last: true}}}
	b := rig.InFront(t, agent)
	at := b.Thread()
	b.Post(at+"/runs/wait", `{"assistant_id":"agent",`+rig.SaysHi+`}`)
	thread := b.Get(at).OK()
	messages := thread.At("values.messages").([]any)
	if got := rig.Dig(messages[len(messages)-1], "additional_kwargs.apbridge.error.type"); thread.Text("status") != "error" || got != "upstream_error" {
		t.Fatalf("after a failure: %s", thread.Body)
	}
	if state := b.Get(at + "/state").OK(); state.At("tasks.0.error") == nil || state.At("next.0") != "step" {
		t.Errorf("the state after a failure: %s", state.Body)
	}
	b.Post(at+"/runs/wait", `{"assistant_id":"agent",`+rig.SaysMore+`}`)
	prompts := agent.Creates()
	if len(prompts) != 2 || !rig.Says(prompts[1], "one") || rig.Says(prompts[1], "Error:") {
		t.Errorf("the agent received %q", prompts)
	}
}

// TestRetriedFailureLeavesNoMessage checks that a retried attempt adds no message, and that its root checkpoint is not
// created twice.
func TestRetriedFailureLeavesNoMessage(t *testing.T) {
	t.Parallel()
	agent := &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{{Output: `"one"`}, {Fault: adaptertest.HTML500, Output: `"two"`, Last: true}}}
	b := rig.InFront(t, agent)
	at := b.Thread()
	started, _ := b.Stream("POST", at+"/runs/stream", `{"assistant_id":"agent",`+rig.SaysHi+`}`, 0, "X-Apbridge-Retries", "1")
	if run := b.Get(started.Header.Get("Content-Location")).OK(); run.At("metadata.run_attempt") != 2.0 || run.Text("status") != "success" {
		t.Errorf("the run is %s", run)
	}
	if diff := cmp.Diff([]any{"hi", "one", "two"}, said(b.Get(at+"/state").OK().List("values.messages"))); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	roots := 0
	for _, s := range b.Get(at + "/history?limit=20").OK().List("") {
		if rig.Dig(s, "next.0") == "__start__" {
			roots++
		}
	}
	if roots != 1 {
		t.Errorf("%d roots", roots)
	}
}

// TestListsHaveMessagesOnce checks that messages are in values, and in the Agent Protocol's form only if it is
// requested.
func TestListsHaveMessagesOnce(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, commanding())
	b.Post(b.Thread()+"/runs/wait", `{"assistant_id":"agent",`+rig.SaysHi+`}`).OK()
	if got := b.Post("/threads/search", `{}`).OK(); len(got.List("0.values.messages")) != 5 || got.At("0.messages") != nil {
		t.Errorf("a list: %s", got.Body)
	}
	if got := b.Post("/threads/search", `{"select":["messages"]}`).OK(); len(got.List("0.messages")) != 5 || got.At("0.values") != nil {
		t.Errorf("a list of messages: %s", got.Body)
	}
}
