package threadrun

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"github.com/google/go-cmp/cmp"
)

// asked returns a request for a run with one message of these parts.
func asked(parts ...string) string {
	return `{"assistant_id":"agent","input":{"messages":[` + strings.ReplaceAll(content(parts...), "m%d", "m1") + `]}}`
}

// TestBadFilesOfMessages checks that invalid files are refused before anything is created, with the position of their
// message.
func TestBadFilesOfMessages(t *testing.T) {
	t.Parallel()
	small := rig.ConfigFor(t, map[string]config.Agent{"agent": rig.AgentAt(adaptertest.Serve(t, echo()).URL)})
	small.Limits.Artifact, small.Limits.MaxFilesPerRequest = 4, 2
	b := rig.StartBridge(t, small)
	file := func(data string) string { return `{"type":"file","data":"` + data + `","filename":"f"}` }
	for name, c := range map[string]struct {
		body   string
		status int
		says   []string
	}{
		"no base64":  {asked(file("aGk="), file("!!!")), 422, []string{`input.messages[0]`, `is not base64`}},
		"too large":  {asked(file("aGVsbG8=")), 413, []string{`input.messages[0]`, "5 bytes", "limits.artifact"}},
		"too many":   {asked(file("aGk="), file("aGkh"), file("aGkhIQ==")), 422, []string{"3 files", "limits.max_files_per_request"}},
		"as many":    {asked(file("aGk="), file("aGkh")), 200, nil},
		"beside it":  {strings.Replace(asked(file("aGk="), file("aGkh")), `"input":{`, `"input":{"files":{"/g":"x"},`, 1), 422, []string{"3 files"}},
		"in a later": {`{"agent_id":"agent","messages":[{"role":"user","content":"hi"},{"role":"user","content":[` + file("?") + `]}]}`, 422, []string{`messages[1]`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b.Post("/runs/wait", c.body).Want(t, c.status, c.says...)
		})
	}
}

// TestGraphsGetMessagesUnchanged checks that messages are not changed for agents that receive messages instead of
// files.
func TestGraphsGetMessagesUnchanged(t *testing.T) {
	t.Parallel()
	agent := &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.AskPlay()}}
	b := rig.InFront(t, agent, rig.AsThreads)
	got := b.Post("/runs/wait", asked(image, linked, reasoning, `{"type":"image","data":"no base64!"}`)).OK()
	if lossy := got.Header.Get("X-Apbridge-Unsupported"); lossy != "" {
		t.Errorf("unsupported fields: %q", lossy)
	}
	var run struct {
		Input struct{ Messages []json.RawMessage }
	}
	bodies := agent.Bodies(rig.StartRoute)
	if len(bodies) != 1 || json.Unmarshal(bodies[0], &run) != nil || len(run.Input.Messages) != 1 {
		t.Fatalf("%s", bodies)
	}
	want := `[` + strings.Join([]string{image, linked, reasoning, `{"type":"image","data":"no base64!"}`}, ",") + `]`
	if diff := cmp.Diff(anyOf(want), rig.Dig(anyOf(string(run.Input.Messages[0])), "content")); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
}

// TestTranscriptWithoutTheInput checks that a client is informed if the configuration withholds a part of its
// input from the agent, unless the agent gets it in another way.
func TestTranscriptWithoutTheInput(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		memory config.Memory
		told   string
		lossy  string
	}{
		"none":             {config.Memory{History: "none"}, "hi", "transcript;approximated"},
		"last":             {config.Memory{History: "last"}, "hi", "transcript;approximated"},
		"additional_input": {config.Memory{Mode: "additional_input"}, "hi", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := echo()
			b := rig.InFront(t, agent, func(a *config.Agent) {
				a.Memory.History, a.Memory.Mode = c.memory.History, c.memory.Mode
			})
			got := b.Post("/runs/wait", `{"assistant_id":"agent","input":{"messages":[{"role":"system","content":"Be brief."},`+
				`{"role":"user","content":[`+image+`]},{"role":"user","content":"hi"}]}}`)
			wantTold := c.told
			if c.memory.History == "last" {
				wantTold = "Conversation so far:\n\nUser: [Attached file: a.png]\n\nCurrent request:\nhi"
			}
			if s := said(t, got); !strings.HasPrefix(s, wantTold+" | a.png=hi") {
				t.Errorf("the agent received %q", s)
			}
			if lossy := got.Header.Get("X-Apbridge-Unsupported"); lossy != c.lossy {
				t.Errorf("unsupported fields: %q, want %q", lossy, c.lossy)
			}
			create := agent.Creates()[0]
			if strings.Contains(create, "aGk=") {
				t.Errorf("the prompt also contains the bytes: %s", create)
			}
			if c.memory.Mode == "additional_input" {
				list, _ := rig.Dig(anyOf(create), "additional_input.messages").([]any)
				if diff := cmp.Diff([]any{"Be brief.", "[Attached file: a.png]"}, rig.Pluck(list, "content")); diff != "" {
					t.Errorf("additional_input.messages (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// TestToolCallsInATranscript checks that tool calls, for which the Agent Protocol's messages have no member, are in
// additional_input as text, as in a prompt.
func TestToolCallsInATranscript(t *testing.T) {
	t.Parallel()
	agent := echo()
	b := rig.InFront(t, agent, func(a *config.Agent) { a.Memory.Mode = "additional_input" })
	got := b.Post("/runs/wait", `{"assistant_id":"agent","input":{"messages":[{"role":"user","content":"weather?"},`+
		`{"role":"assistant","content":"","tool_calls":[{"id":"c1","name":"weather","args":{"city":"Rome"}}]},`+
		`{"role":"tool","tool_call_id":"c1","content":"sunny"},{"role":"assistant","content":"I look.","tool_calls":[{"id":"c2","name":"time","args":{}}]},{"role":"user","content":"hi"}]}}`).OK()
	list, _ := rig.Dig(anyOf(agent.Creates()[0]), "additional_input.messages").([]any)
	want := []any{"weather?", `[Called weather with {"city":"Rome"}]`, "sunny", "I look.\n[Called time with {}]"}
	if diff := cmp.Diff(want, rig.Pluck(list, "content")); diff != "" {
		t.Errorf("additional_input.messages (-want +got):\n%s", diff)
	}
	if lossy := got.Header.Get("X-Apbridge-Unsupported"); lossy != "" {
		t.Errorf("unsupported fields: %q", lossy)
	}
}

// TestFilesOfMessagesFollowTheirRun checks that files are deleted with their run, and that the agent receives them if
// the run waited or is resumed by another process.
func TestFilesOfMessagesFollowTheirRun(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, echo())
	at := b.Thread()
	run := b.Post(at+"/runs", asked(image)).OK().Text("run_id")
	b.Get(at + "/runs/" + run + "/join").OK()
	if got := artifactNames(b, at); len(got) != 1 {
		t.Errorf("artifacts: %v", got)
	}
	b.Do("DELETE", at+"/runs/"+run, "").OK()
	if got := artifactNames(b, at); len(got) != 0 {
		t.Errorf("artifacts after their run was deleted: %v", got)
	}
}

// TestFilesOfMessagesAfterACrash checks that after the death of a process during a run, the next turn of the thread has
// the files, each once.
func TestFilesOfMessagesAfterACrash(t *testing.T) {
	t.Parallel()
	steps := 0
	agent := echo()
	answer := agent.Choose
	agent.Choose = func(input string, files map[string]string) []adaptertest.ScriptStep {
		script := answer(input, files)
		if steps++; steps == 1 {
			script[0].Fault = adaptertest.Hang
		}
		return script
	}
	b := rig.InFront(t, agent)
	at := b.Thread()
	run := b.Post(at+"/runs", asked(image)).OK().Text("run_id")
	rig.Eventually(t, "the step begins", func() bool { return agent.Work() > 0 || len(agent.Inputs()) > 0 })
	b.Kill()
	b = b.Again()
	b.Get(at + "/runs/" + run + "/join").OK()
	got := b.Post(at+"/runs/wait", `{"assistant_id":"agent","input":{"messages":[{"role":"user","content":"again"}]}}`)
	if s := said(t, got); !strings.Contains(s, "User: [Attached file: a.png]\n") || !strings.HasSuffix(s, "Current request:\nagain | a.png=hi") {
		t.Errorf("the agent received %q", s)
	}
}

// TestFilesOfMessagesInTheProtocol sends files of messages in a command of the streaming protocol.
func TestFilesOfMessagesInTheProtocol(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, echo())
	at := b.Thread()
	command := func(parts ...string) rig.Answer {
		return b.Post(at+"/commands", fmt.Sprintf(`{"id":1,"method":"run.start","params":%s}`, asked(parts...)))
	}
	if bad := command(`{"type":"image","data":"!"}`); !strings.Contains(string(bad.Body), "input.messages[0]") || strings.Contains(string(bad.Body), "success") {
		t.Errorf("%d %s", bad.Status, bad.Body)
	}
	got := command(image, linked).OK()
	if lossy := got.Header.Get("X-Apbridge-Unsupported"); lossy != "messages.links;approximated" {
		t.Errorf("unsupported fields: %q: %s", lossy, got.Body)
	}
	b.Get(at + "/runs/" + got.Text("result.run_id") + "/join").OK()
	state := b.Get(at + "/state").OK()
	state.Body = []byte(state.Member("values"))
	if s := said(t, state); s != "[Attached file: a.png]\n[Attached link: https://x.example/b.png] | a.png=hi" {
		t.Errorf("the agent received %q", s)
	}
}

// TestInputOfTheAISDK sends a recorded request of @ai-sdk/langchain 3.0.99 without a thread: the whole conversation,
// and content_blocks instead of a content.
func TestInputOfTheAISDK(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, echo())
	got := b.Post("/runs/wait", `{"input":{"messages":[{"content":"my name is Ada","additional_kwargs":{},"response_metadata":{},"role":"human"},`+
		`{"content":"Hello Ada","tool_calls":[],"invalid_tool_calls":[],"additional_kwargs":{},"response_metadata":{},"role":"ai"},`+
		`{"content_blocks":[{"type":"text","text":"recall"},{"type":"file","data":"aGk=","mimeType":"text/plain","filename":"a.txt"}],`+
		`"additional_kwargs":{},"response_metadata":{"output_version":"v1"},"role":"human"}]},"assistant_id":"agent","if_not_exists":"create"}`)
	const want = "Conversation so far:\n\nUser: my name is Ada\nAssistant: Hello Ada\n\nCurrent request:\nrecall\n[Attached file: a.txt] | a.txt=hi"
	if s := said(t, got); s != want {
		t.Errorf("the agent received %q", s)
	}
	if n := len(got.List("messages.2.content")); n != 2 {
		t.Errorf("%d parts in the state: %s", n, got.Body)
	}
}
