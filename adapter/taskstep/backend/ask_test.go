package backend

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
)

// bareSDK is an agent on the Python SDK of the v1 protocol, which drops additional_output. It asks by the name of its
// first step, and repeats the answer in the last one.
func bareSDK() http.Handler {
	mux := http.NewServeMux()
	const task = `{"input":"hi","additional_input":null,"task_id":"t","artifacts":[],"steps":[]}`
	step := func(id, name, input, output string, last bool) string {
		return fmt.Sprintf(`{"task_id":"t","step_id":%q,"name":%q,"input":%s,"status":"completed","output":%q,"additional_output":{},"artifacts":[],"is_last":%t}`,
			id, name, orElse(input, "null"), output, last)
	}
	mux.HandleFunc("GET /ap/v1/agent/tasks", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"tasks":[]}`) })
	mux.HandleFunc("POST /ap/v1/agent/tasks", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, task) })
	mux.HandleFunc("GET /ap/v1/agent/tasks/t/artifacts", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `[]`) })
	asked := false
	mux.HandleFunc("POST /ap/v1/agent/tasks/t/steps", func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Input json.RawMessage }
		_ = json.NewDecoder(r.Body).Decode(&in)
		if !asked {
			asked = true
			_, _ = io.WriteString(w, step("s1", "ask_user", string(in.Input), "Which colour?", false))
			return
		}
		_, _ = io.WriteString(w, step("s2", "done", string(in.Input), "You said: "+string(in.Input), true))
	})
	return mux
}

// TestBareSDKAsksByName checks that the name of a step is enough to ask a question, because both SDKs of the v1
// protocol drop additional_output.
func TestBareSDKAsksByName(t *testing.T) {
	t.Parallel()
	url := adaptertest.Serve(t, bareSDK()).URL
	first := runTask(t, backendAt(t, url), adaptertest.NewTask(nil))
	end := first.End()
	if end == nil || end.Status != mapping.RunInterrupted || len(end.Interrupts) != 1 || rule.QuestionText(end.Interrupts[0].Value) != "Which colour?" {
		t.Fatalf("the run ended with %+v, %v, want the question", end, first.Err)
	}
	task := again(adaptertest.NewTask(nil), first.Events)
	task.After, task.Resume, task.Task.Answer = nil, true, rule.Answer{Text: "blue"}
	rest := runTask(t, backendAt(t, url), task)
	mustSucceed(t, rest)
	if got := said(rest); len(got) != 1 || got[0] != `"You said: \"blue\""` {
		t.Errorf("the agent received %v", got)
	}
}
