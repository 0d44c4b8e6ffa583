package face

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/mux"
	"go.uber.org/zap/zaptest"
)

// topicsHeard responds with fixed topics and interactions, and records the requests.
type topicsHeard struct {
	*fake
	topic []adapter.TopicRequest
	said  []adapter.InteractionRequest
	refs  []adapter.TopicRef
}

var heardAt = time.Date(2026, 1, 2, 3, 4, 5, 678_900_000, time.UTC)

func fixedTopic() rule.Topic {
	name := "a \"name\""
	return rule.Topic{
		ID: "t", Name: &name, AdditionalInput: json.RawMessage(`{"k": 1.0}`), Status: mapping.ThreadIdle, Memory: json.RawMessage(`{"m":[]}`),
		Artifacts: []mapping.Artifact{{ID: "f", Path: "src/a.txt", AgentCreated: true}}, CreatedAt: heardAt, UpdatedAt: heardAt,
	}
}

func fixedInteraction() rule.Interaction {
	output := "done"
	return rule.Interaction{ID: "i", TopicID: "t", TaskID: "k", Role: rule.RoleAgent, Output: &output, AdditionalOutput: json.RawMessage(`{"cost": 1.50}`)}
}

func (h *topicsHeard) CreateTopic(_ context.Context, n adapter.TopicRequest) (rule.Topic, error) {
	h.topic = append(h.topic, n)
	return fixedTopic(), nil
}

func (h *topicsHeard) GetTopic(_ context.Context, ref adapter.TopicRef) (rule.Topic, error) {
	h.refs = append(h.refs, ref)
	return fixedTopic(), nil
}

func (h *topicsHeard) ListTopics(_ context.Context, agent string, p adapter.Page) (iter.Seq2[rule.Topic, error], int, error) {
	h.refs = append(h.refs, adapter.TopicRef{Agent: agent})
	return adapter.List([]rule.Topic{fixedTopic()}), 11, nil
}

func (h *topicsHeard) Say(_ context.Context, n adapter.InteractionRequest) (rule.Interaction, error) {
	h.said = append(h.said, n)
	said := fixedInteraction()
	said.Role, said.Input, said.AdditionalInput, said.Output, said.AdditionalOutput = n.Role, n.Input, n.AdditionalInput, nil, nil
	return said, nil
}

func (h *topicsHeard) GetInteraction(_ context.Context, ref adapter.TopicRef, id string) (rule.Interaction, error) {
	return fixedInteraction(), nil
}

func (h *topicsHeard) ListInteractions(_ context.Context, ref adapter.TopicRef, p adapter.Page) ([]rule.Interaction, int, error) {
	h.refs = append(h.refs, ref)
	return []rule.Interaction{fixedInteraction()}, 1, nil
}

func serveTopics(t *testing.T) (*served, *topicsHeard) {
	t.Helper()
	f := newFake()
	heard := &topicsHeard{fake: f}
	r := mux.NewRouter().SkipClean(true)
	Mount(r, heard, adapter.Face{
		Log: zaptest.NewLogger(t), Limits: config.Limits{Body: 64 << 10, MaxJSONDepth: 50, Artifact: 1 << 20}, DefaultAgent: "main",
		Agents: map[string]config.Agent{"main": {}, "other": {Artifacts: config.Artifacts{Path: "folder"}}},
	})
	srv := httptest.NewServer(r)
	t.Cleanup(srv.Close)
	return &served{fake: f, t: t, url: srv.URL}, heard
}

const (
	topicText = `{"topic_id":"t","name":"a \"name\"","additional_input":{"k": 1.0},"status":"idle","memory":{"m":[]},` +
		`"artifacts":[{"artifact_id":"f","agent_created":true,"file_name":"a.txt","relative_path":"src/a.txt"}],` +
		`"created_at":"2026-01-02T03:04:05.678900Z","modified_at":"2026-01-02T03:04:05.678900Z"}`
	interactionText = `{"interaction_id":"i","topic_id":"t","task_id":"k","role":"agent","input":null,"additional_input":{},"output":"done",` +
		`"additional_output":{"cost": 1.50},"artifacts":[]}`
)

func TestTopicAnswers(t *testing.T) {
	t.Parallel()
	s, _ := serveTopics(t)
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"POST", "/ap/v2/topics", `{}`, 201, topicText},
		{"POST", "/ap/v2/topics", ``, 201, topicText},
		{"GET", "/ap/v2/topics/t", ``, 200, topicText},
		{"GET", "/agents/other/ap/v2/topics/t", ``, 200, strings.Replace(topicText, "src/a.txt", "src/", 1)},
		{"GET", "/ap/v2/topics?page_size=10&current_page=2", ``, 200,
			`{"topics":[` + topicText + `],"pagination":{"total_items":11,"total_pages":2,"current_page":2,"page_size":10}}`},
		{"GET", "/ap/v2/topics/t/interactions", ``, 200,
			`{"interactions":[` + interactionText + `],"pagination":{"total_items":1,"total_pages":1,"current_page":1,"page_size":10}}`},
		{"GET", "/ap/v2/topics/t/interactions/i", ``, 200, interactionText},
		{"POST", "/ap/v2/topics/t/interactions", `{"input":"é","additional_input":{ "a":1.0 }}`, 201,
			`{"interaction_id":"i","topic_id":"t","task_id":"k","role":"user","input":"é","additional_input":{ "a":1.0 },"output":null,"additional_output":null,"artifacts":[]}`},
	} {
		a := s.do(c.method, c.path, plain, c.body)
		if a.status != c.status || a.body != c.want {
			t.Errorf("%s %s: %d\n got %s\nwant %s", c.method, c.path, a.status, a.body, c.want)
		}
	}
}

func TestTopicRequests(t *testing.T) {
	t.Parallel()
	s, heard := serveTopics(t)
	yes, no, name, input := true, false, "n", "x"
	s.do("POST", "/agents/other/ap/v2/topics", plain, `{"name":"n","additional_input":{"a":1}}`)
	s.do("POST", "/ap/v2/topics/t/interactions", plain, `{"input":"x","additional_input":{"derive_task":false}}`)
	s.do("POST", "/ap/v2/topics/t/interactions", plain, `{"role":"system","input":"x","additional_input":{"derive_task":true}}`)
	s.do("POST", "/ap/v2/topics/t/interactions", plain, `{"role":null,"input":null,"additional_input":{"derive_task":null}}`)
	req, err := http.NewRequestWithContext(t.Context(), "POST", s.url+"/agents/other/ap/v2/topics/t/interactions", strings.NewReader(`{"input":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", plain)
	req.Header.Set("Idempotency-Key", "once")
	s.send(req)
	ref := adapter.TopicRef{Agent: "main", ID: "t", Flavour: FlavourTopic}
	want := []adapter.InteractionRequest{
		{Ref: ref, Role: "user", Input: &input, AdditionalInput: json.RawMessage(`{"derive_task":false}`), Derive: &no},
		{Ref: ref, Role: "system", Input: &input, AdditionalInput: json.RawMessage(`{"derive_task":true}`), Derive: &yes},
		{Ref: ref, Role: "user", AdditionalInput: json.RawMessage(`{"derive_task":null}`)},
		{Ref: adapter.TopicRef{Agent: "other", ID: "t", Flavour: FlavourTopic}, Role: "user", Input: &input, IdempotencyKey: "once"},
	}
	if diff := cmp.Diff(want, heard.said); diff != "" {
		t.Errorf("interactions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]adapter.TopicRequest{{Agent: "other", Name: &name, AdditionalInput: json.RawMessage(`{"a":1}`)}}, heard.topic); diff != "" {
		t.Errorf("topics (-want +got):\n%s", diff)
	}
}

func TestAMisspeltRoleOfATopic(t *testing.T) {
	t.Parallel()
	s, heard := serveTopics(t)
	for role, says := range map[string]string{"usr": "user, agent or system, and probably meant user.", "boss": "role must be user, agent or system."} {
		got := s.do("POST", "/ap/v2/topics/t/interactions", plain, `{"role":"`+role+`","input":"x"}`)
		if got.status != http.StatusBadRequest || !strings.Contains(got.body, says) {
			t.Errorf("%s: %d %s, want the text %q", role, got.status, got.body, says)
		}
	}
	if len(heard.said) > 0 {
		t.Errorf("it was said: %v", heard.said)
	}
}

// Tasks and steps below a topic name the topic. Those of v1 do not.
func TestTasksOfTopics(t *testing.T) {
	t.Parallel()
	s, _ := serveTopics(t)
	made := s.do("POST", "/ap/v2/topics/t/tasks", plain, `{"input":"hi"}`)
	if made.status != 201 || !strings.Contains(made.body, `,"topic_id":"t",`) {
		t.Fatalf("got %d %s", made.status, made.body)
	}
	var task struct {
		ID string `json:"task_id"`
	}
	if err := json.Unmarshal([]byte(made.body), &task); err != nil {
		t.Fatal(err)
	}
	step := s.do("POST", "/ap/v2/topics/t/tasks/"+task.ID+"/steps", "", "")
	if step.status != 200 || !strings.Contains(step.body, `"task_id":"`+task.ID+`","topic_id":"t",`) {
		t.Errorf("a step: %d %s", step.status, step.body)
	}
	if got := s.do("GET", v1Path+"/tasks/"+task.ID, "", ""); got.status != 200 || strings.Contains(got.body, "topic_id") {
		t.Errorf("in v1: %d %s", got.status, got.body)
	}
}
