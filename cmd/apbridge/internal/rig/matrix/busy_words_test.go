package matrix

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
)

// TestBusyThreadErrorNamesTheClientsField checks that a refusal names the field as its client knows it, or no field if
// the client has none.
func TestBusyThreadErrorNamesTheClientsField(t *testing.T) {
	t.Parallel()
	g := rig.NewGate(adaptertest.NewStepAgent(adaptertest.Plain), rig.StepPosts, 1)
	agents := map[string]config.Agent{"agent": rig.AgentAt(adaptertest.Serve(t, g).URL, rig.Free, func(a *config.Agent) { a.Multitask = "reject" })}
	b := rig.StartSpeaking(t, rig.ConfigFor(t, agents), withToy())
	topic := b.Post("/ap/v2/topics", `{}`).Is(http.StatusCreated).Text("topic_id")
	const rejects = `{"input":"hi","additional_input":{"multitask_strategy":"reject"}}`
	ofTopic := "/ap/v2/topics/" + topic + "/tasks/" + b.Post("/ap/v2/topics/"+topic+"/tasks", rejects).Is(http.StatusCreated).Text("task_id") + "/steps"
	run := b.Begin("/threads/"+topic, "")
	g.Await(t)
	holder := `run "` + run[strings.LastIndex(run, "/")+1:] + `". `
	busy := `Thread "` + topic + `" is busy with ` + holder + "Wait for it"

	for _, c := range []struct{ client, said, want string }{
		{"threads and runs", b.Post("/threads/"+topic+"/runs", `{"assistant_id":"agent",`+rig.SaysHi+`}`).Is(http.StatusConflict).Text("message"),
			busy + ", cancel it, or send multitask_strategy enqueue, interrupt or rollback."},
		{"tasks and steps", b.Post(ofTopic, "").Is(http.StatusConflict).Text("message"),
			"The task has to wait for " + holder + "Try again later, cancel that run, or send additional_input.multitask_strategy enqueue, interrupt or rollback."},
		{"the toy", toyError(t, b.Do("POST", "/toy/say", "hi", "Toy-Talk", topic).Is(http.StatusConflict)), busy + " or cancel it."},
	} {
		if c.said != c.want {
			t.Errorf("a client of %s reads\n%s\nwant\n%s", c.client, c.said, c.want)
		}
	}
	g.Open()
}

// toyError returns the error in a line of the toy dialect.
func toyError(t *testing.T, a rig.Answer) (text string) {
	t.Helper()
	if err := json.Unmarshal([]byte(strings.TrimPrefix(a.String(), "! ")), &text); err != nil {
		t.Fatalf("%s: %v", a, err)
	}
	return text
}
