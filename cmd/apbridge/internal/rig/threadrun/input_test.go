package threadrun

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/google/go-cmp/cmp"
)

// echo is a task/step agent whose one step repeats the input of its task and the names of its files.
func echo() *adaptertest.StepAgent {
	return &adaptertest.StepAgent{Kind: adaptertest.Plain, Choose: func(input string, files map[string]string) []adaptertest.ScriptStep {
		said := []string{input}
		for path, content := range files {
			said = append(said, path+"="+content)
		}
		slices.Sort(said[1:])
		output, _ := json.Marshal(strings.Join(said, " | "))
		return []adaptertest.ScriptStep{{Output: string(output), Last: true}}
	}}
}

// said returns the last message of the values in a run's response.
func said(t *testing.T, a rig.Answer) string {
	t.Helper()
	list := a.OK().List("messages")
	if len(list) == 0 {
		t.Fatalf("no messages: %s", a.Body)
	}
	return rig.TextOf(rig.Dig(list[len(list)-1], "content"))
}

const (
	image     = `{"type":"image","mimeType":"image/png","data":"aGk=","metadata":{"name":"a.png"}}`
	other     = `{"type":"image","mimeType":"image/png","data":"eW8=","metadata":{"name":"a.png"}}`
	linked    = `{"type":"image_url","image_url":{"url":"https://x.example/b.png"}}`
	reasoning = `{"type":"reasoning","reasoning":"hm"}`
)

func content(parts ...string) string {
	return `{"type":"human","id":"m%d","content":[` + strings.Join(parts, ",") + `]}`
}

// TestAllOfAnInputIsTold checks the first run's input for the agent, and the losses that are reported to the client. AP
// is the same request in the Agent Protocol's flavour.
func TestAllOfAnInputIsTold(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, echo())
	const text = `{"type":"text","text":"look"}`
	for name, c := range map[string]struct {
		messages string
		want     string
		lossy    string
	}{
		"a conversation": {`{"role":"user","content":"my name is Ada"},{"role":"assistant","content":"Hello Ada"},{"role":"user","content":"who?"}`,
			"Conversation so far:\n\nUser: my name is Ada\nAssistant: Hello Ada\n\nCurrent request:\nwho?", ""},
		"a system message":       {`{"role":"system","content":"Be brief."},{"role":"user","content":"hi"}`, "Conversation so far:\n\nSystem: Be brief.\n\nCurrent request:\nhi", ""},
		"a page's own":           {`{"role":"tool","id":"do-not-render-1","tool_call_id":"x","content":"Successfully handled tool call."},{"role":"user","content":"hi"}`, "hi", ""},
		"a file":                 {`{"role":"user","content":[` + text + `,` + image + `]}`, "look\n[Attached file: a.png] | a.png=hi", ""},
		"a file alone":           {`{"role":"user","content":[` + image + `]}`, "[Attached file: a.png] | a.png=hi", ""},
		"a file of a name":       {`{"role":"user","id":"m1","content":[{"type":"file","data":"aGk=","filename":"../../etc/passwd"}]}`, "[Attached file: passwd] | passwd=hi", ""},
		"a file of no name":      {`{"role":"user","id":"m1","content":[{"type":"image_url","image_url":{"url":"data:image/jpeg;base64,aGk="}}]}`, "[Attached file: m1.jpg] | m1.jpg=hi", ""},
		"two of one name":        {`{"role":"user","content":[` + image + `,` + other + `]}`, "[Attached file: a.png]\n[Attached file: a-2.png] | a-2.png=yo | a.png=hi", ""},
		"the same twice":         {`{"role":"user","content":[` + image + `,` + image + `]}`, "[Attached file: a.png]\n[Attached file: a.png] | a.png=hi", ""},
		"a file of an old turn":  {`{"role":"user","content":[` + image + `]},{"role":"assistant","content":"nice"},{"role":"user","content":"more"}`, "Conversation so far:\n\nUser: [Attached file: a.png]\nAssistant: nice\n\nCurrent request:\nmore | a.png=hi", ""},
		"a link":                 {`{"role":"user","content":[` + text + `,` + linked + `]}`, "look\n[Attached link: https://x.example/b.png]", "messages.links;approximated"},
		"what is no words":       {`{"role":"user","content":[` + text + `,` + reasoning + `]}`, "look", "messages.parts;dropped"},
		"both, in an early turn": {`{"role":"user","content":[` + linked + `,` + reasoning + `]},{"role":"user","content":"hi"}`, "Conversation so far:\n\nUser: [Attached link: https://x.example/b.png]\n\nCurrent request:\nhi", "messages.links;approximated, messages.parts;dropped"},
		"a named person":         {`{"role":"user","name":"ann","content":"hi"}`, "hi", "messages.name;dropped"},
		"metadata":               {`{"role":"user","metadata":{"a":1},"content":"hi"},{"role":"user","metadata":{},"content":"ho"}`, "Conversation so far:\n\nUser: hi\n\nCurrent request:\nho", "messages.metadata;dropped"},
		"calls as of OpenAI": {`{"role":"user","content":"q"},{"role":"assistant","content":"","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},{"role":"tool","tool_call_id":"c","content":"42"},{"role":"user","content":"hi"}`,
			"Conversation so far:\n\nUser: q\nAssistant: [Called f with {\"a\":1}]\nTool: 42\n\nCurrent request:\nhi", ""},
		"more than fits": {`{"role":"user","content":"` + strings.Repeat("x", 95_000) + `"},{"role":"user","content":"hi"}`, "hi", "transcript;approximated"},
	} {
		for kind, body := range map[string]string{"langgraph": `{"assistant_id":"agent","input":{"messages":[%s]}}`, "agent protocol": `{"agent_id":"agent","messages":[%s]}`} {
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				got := b.Post("/runs/wait", fmt.Sprintf(body, c.messages))
				if kind != "langgraph" {
					got.Body = []byte(got.Member("values"))
				}
				if s := said(t, got); s != c.want {
					t.Errorf("the agent was told %q, want %q", s, c.want)
				}
				if lossy := got.Header.Get("X-Apbridge-Unsupported"); lossy != c.lossy {
					t.Errorf("losses %q, want %q", lossy, c.lossy)
				}
			})
		}
	}
}

// TestFilesOfMessagesOnAThread checks that later turns name the files of earlier ones and the agent has them, that a
// page that sends the whole thread again adds nothing, and that messages are unchanged.
func TestFilesOfMessagesOnAThread(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, echo())
	at := b.Thread()
	run := func(messages ...string) string {
		for i := range messages {
			messages[i] = strings.ReplaceAll(messages[i], "m%d", fmt.Sprint("m", i+1))
		}
		return said(t, b.Post(at+"/runs/wait", `{"assistant_id":"agent","input":{"messages":[`+strings.Join(messages, ",")+`]}}`))
	}
	first := content(image)
	if got := run(first); got != "[Attached file: a.png] | a.png=hi" {
		t.Errorf("first turn: %q", got)
	}
	const answer = "User: [Attached file: a.png]\nAssistant: [Attached file: a.png] | a.png=hi\n"
	second := strings.ReplaceAll(content(other), "m%d", "m7")
	if got := run(first, second); got != "Conversation so far:\n\n"+answer+"\nCurrent request:\n[Attached file: a-2.png] | a-2.png=yo | a.png=hi" {
		t.Errorf("the thread again, and a file of the same name: %q", got)
	}
	state := b.Get(at + "/state").OK()
	if n := len(state.List("values.messages")); n != 4 {
		t.Errorf("%d messages: %s", n, state.Body)
	}
	if got := rig.Dig(state.List("values.messages")[0], "content"); cmp.Diff(anyOf("["+image+"]"), got) != "" {
		t.Errorf("the first message is %v", got)
	}
	names := artifactNames(b, at)
	if diff := cmp.Diff([]string{"a-2.png", "a.png"}, names); diff != "" {
		t.Errorf("artifacts (-want +got):\n%s", diff)
	}
}

// artifactNames returns the files of a thread as a client of its topic sees them, sorted.
func artifactNames(b *rig.Bridge, thread string) (names []string) {
	b.T.Helper()
	for _, a := range b.Get("/ap/v2/topics/" + strings.TrimPrefix(thread, "/threads/")).OK().List("artifacts") {
		names = append(names, rig.TextOf(rig.Dig(a, "file_name")))
	}
	slices.Sort(names)
	return names
}

func anyOf(text string) (v any) {
	_ = json.Unmarshal([]byte(text), &v)
	return v
}
