package matrix

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/google/go-cmp/cmp"
)

// unused lists documented responses that this bridge does not give. In the RFC's family the status of a request that
// creates something is 201, except for steps.
var unused = map[string]bool{
	"POST /ap/v2/topics/{topic_id}/tasks 200":                     true,
	"POST /ap/v2/topics/{topic_id}/tasks/{task_id}/artifacts 200": true,
	"POST /ap/v2/topics/{topic_id}/tasks/{task_id}/steps 201":     true,
}

// TestOfficialDocuments provokes every documented response of the two documents with every kind of agent, and validates
// each against its schema.
func TestOfficialDocuments(t *testing.T) {
	t.Parallel()
	if os.Getenv("APBRIDGE_SPECS") == "" {
		t.Skip("APBRIDGE_SPECS is not set: it names the folder of the official documents")
	}
	for _, who := range rig.AgentsBehind() {
		t.Run(who.Name, func(t *testing.T) {
			t.Parallel()
			b := rig.InFront(t, who.Peer())
			const tasks, topics = "/ap/v1/agent/tasks", "/ap/v2/topics"
			provoke(b, tasks, b.Post(tasks, `{"input":"hi"}`).Is(200).Text("task_id"), 200, 422)
			topic := topics + "/" + b.Post(topics, `{"name":"x"}`).Is(201).Text("topic_id")
			b.Post(topics, `{"name":5}`).Is(400)
			said := b.Post(topic+"/interactions", `{"input":"hi"}`).Is(201)
			b.Post(topic+"/interactions", `{"input":5}`).Is(400)
			b.Post(topics+"/nothing/interactions", `{"input":"x"}`).Is(404)
			for _, path := range []string{topics, topic, topic + "/interactions", topic + "/interactions/" + said.Text("interaction_id")} {
				b.Get(path).Is(200)
			}
			for _, path := range []string{topics + "/nothing", topics + "/nothing/interactions", topic + "/interactions/nothing", topics + "/nothing/tasks"} {
				b.Get(path).Is(404)
			}
			b.Post(topics+"/nothing/tasks", `{"input":"x"}`).Is(404)
			provoke(b, topic+"/tasks", said.Text("task_id"), 201, 400)
			if diff := cmp.Diff(outcomes(b.Judge.Docs), slices.Sorted(maps.Keys(b.Judge.Seen))); diff != "" {
				t.Errorf("documented answers (-all +seen):\n%s", diff)
			}
		})
	}
}

// provoke causes every documented response below a list of tasks.
func provoke(b *rig.Bridge, tasks, id string, created, invalid int) {
	b.T.Helper()
	at := tasks + "/" + id
	b.Post(tasks, `{"input":null}`).Is(created)
	b.Post(tasks, `{"input":5}`).Is(invalid)
	upload := b.Upload(at+"/artifacts", "a.txt", "in", "given").Is(created)
	b.Upload(tasks+"/nothing/artifacts", "a.txt", "", "x").Is(404)
	b.Post(at+"/steps", `[]`).Is(invalid)
	step := b.Post(at+"/steps", "").Is(200)
	b.Post(tasks+"/nothing/steps", "").Is(404)
	for range 5 {
		if step = b.Post(at+"/steps", "").Is(200); step.At("is_last") == true {
			break
		}
	}
	for _, path := range []string{"", "/steps", "/artifacts", "/steps/" + step.Text("step_id"), "/artifacts/" + upload.Text("artifact_id")} {
		b.Get(at + path).Is(200)
	}
	b.Get(tasks).Is(200)
	for _, path := range []string{"/nothing", "/nothing/steps", "/nothing/artifacts", "/" + id + "/steps/nothing", "/" + id + "/artifacts/nothing"} {
		b.Get(tasks + path).Is(404)
	}
}

// outcomes returns all documented responses that this bridge gives.
func outcomes(d *rig.OfficialSpecs) (list []string) {
	for path, item := range d.Paths {
		for method, op := range item {
			op, ok := op.(map[string]any)
			if !ok {
				continue
			}
			for status := range op["responses"].(map[string]any) {
				what := fmt.Sprintf("%s %s %s", strings.ToUpper(method), path, status)
				if status != "default" && !unused[what] {
					list = append(list, what)
				}
			}
		}
	}
	slices.Sort(list)
	return list
}
