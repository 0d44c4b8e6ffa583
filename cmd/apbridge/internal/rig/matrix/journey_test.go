package matrix

import (
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/google/go-cmp/cmp"
)

// journeyStep is a request of a user journey with the expected contents of the response.
type journeyStep struct {
	method, path, body string // {name} is replaced by a value that an earlier step captured
	status             int
	asserts            map[string]any    // path in the answer → value
	captures           map[string]string // name → path in the answer
}

const supportThread = "229c1834-bc04-4d90-8fd6-77f6b9ef1462"

// journeys returns the journeys of the Agent Protocol's README ("Agent Protocol in Action"), with its paths, requests
// and assertions. The first names no agent and reads the status of a run at the top level of the response to wait.
func journeys() map[string][]journeyStep {
	thread := "/threads/" + supportThread
	begin := []journeyStep{
		{"POST", "/threads", `{"thread_id":"` + supportThread + `","metadata":{"purpose":"support-chat"}}`, 200,
			map[string]any{"thread_id": supportThread}, nil},
		{"GET", thread, "", 200, map[string]any{"status": "idle"}, nil},
		{"POST", thread + "/runs", `{"input":{"message":"Hi there, what's the weather?"},"metadata":{"requestType":"weatherQuery"}}`, 200,
			map[string]any{"status": "pending", "metadata.requestType": "weatherQuery"}, map[string]string{"run_id": "run_id"}},
		{"GET", thread + "/runs/{run_id}/wait", "", 200, map[string]any{"status": "success", "run.status": "success"}, nil},
	}
	// "You can then repeat the two last steps to launch more runs."
	again := append(append([]journeyStep{}, begin...), begin[2:]...)
	return map[string][]journeyStep{
		"1, a thread and a run": append(again, journeyStep{"GET", thread, "", 200, map[string]any{"status": "idle"}, nil}),
		"2, a run without a thread": {
			{"POST", "/runs/wait", `{"input":{"prompt":"What's the fastest route to the airport?"},"metadata":{"useCase":"travelPlan"},"config":{"tags":["ephemeral","demo"]}}`,
				200, map[string]any{"run.status": "success"}, nil},
		},
		"3, the store": {
			{"PUT", "/store/items", `{"namespace":["user_profiles"],"key":"profile_jane_doe","value":{"displayName":"Jane Doe","role":"customer"}}`, 204, nil, nil},
			{"GET", "/store/items?key=profile_jane_doe&namespace=user_profiles", "", 200,
				map[string]any{"value.displayName": "Jane Doe", "value.role": "customer"}, nil},
			{"DELETE", "/store/items", `{"namespace":["user_profiles"],"key":"profile_jane_doe"}`, 204, nil, nil},
			{"GET", "/store/items?key=profile_jane_doe&namespace=user_profiles&flavour=agentprotocol", "", 404, map[string]any{"code": "item_not_found"}, nil},
		},
	}
}

// TestJourneys runs the journeys with agents of both kinds.
func TestJourneys(t *testing.T) {
	t.Parallel()
	for kind, peer := range rig.EitherKind() {
		for name, steps := range journeys() {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				walk(t, rig.InFront(t, peer()), steps)
			})
		}
	}
}

func walk(t *testing.T, b *rig.Bridge, steps []journeyStep) {
	t.Helper()
	captured := []string{}
	for _, s := range steps {
		fill := strings.NewReplacer(captured...)
		got := b.Do(s.method, fill.Replace(s.path), fill.Replace(s.body)).Is(s.status)
		for path, want := range s.asserts {
			if diff := cmp.Diff(want, got.At(path)); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", got.Name, path, diff)
			}
		}
		for name, path := range s.captures {
			captured = append([]string{"{" + name + "}", got.Text(path)}, captured...)
		}
	}
}

// TestJourneyReturnsTheAgentsOutput checks properties that the journeys do not assert. The text in message and prompt
// reaches the step agent, the response to wait has the run's output, and the first journey may end with a stream or a
// read of the thread instead.
func TestJourneyReturnsTheAgentsOutput(t *testing.T) {
	t.Parallel()
	agent := adaptertest.NewStepAgent(adaptertest.Plain)
	b := rig.InFront(t, agent)
	first := journeys()["1, a thread and a run"]
	walk(t, b, first[:2])
	thread := "/threads/" + supportThread
	run := b.Post(thread+"/runs", first[2].body).OK().Text("run_id")
	_, frames := b.Stream("GET", thread+"/runs/"+run+"/stream", "", 0, "Last-Event-ID", "-1")
	b.Get(thread + "/runs/" + run + "/wait").OK()
	want := []any{"Hi there, what's the weather?", "one", "two", "three"}
	for what, messages := range map[string][]any{
		"stream": lastList(t, frames, "messages"),
		"wait":   b.Get(thread + "/runs/" + run + "/wait").OK().List("messages"),
		"thread": b.Get(thread).OK().List("messages"),
		"values": b.Get(thread).OK().List("values.messages"),
	} {
		if diff := cmp.Diff(want, rig.Pluck(messages, "content")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	walk(t, b, journeys()["2, a run without a thread"])
	if asked := agent.Creates(); !strings.Contains(asked[len(asked)-1], "What's the fastest route to the airport?") {
		t.Errorf("the agent received %s", asked)
	}
}

func lastList(t *testing.T, frames []rig.Frame, path string) []any {
	t.Helper()
	list, _ := rig.LastFrame(t, frames, "values").At(path).([]any)
	return list
}
