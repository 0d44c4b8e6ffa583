package taskstep

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/examples/legacyagent"
	"github.com/apbridge/apbridge/examples/threadagent"
	"github.com/google/go-cmp/cmp"
)

// topicBridge is a bridge with an agent of each kind, used by a client of topics. Every response is validated against
// the document if that is available.
type topicBridge struct {
	t   *testing.T
	url string // of the bridge
	doc *rig.Judge
}

func startTopics(t *testing.T, environ ...string) *topicBridge {
	t.Helper()
	b := rig.Configured(t, "default_agent: legacy\nagents:\n  legacy: {url: $LEGACY}\n  graph: {url: $GRAPH}",
		map[string]http.Handler{"legacy": legacyagent.Handler(), "graph": threadagent.Handler()}, environ...)
	return &topicBridge{t: t, url: b.URL, doc: rig.NewJudge(t)}
}

// topicResponse has the checked members of any response.
type topicResponse struct {
	status int
	body   string

	TopicID    string `json:"topic_id"`
	TaskID     *string
	StepID     string          `json:"step_id"`
	Artifact   string          `json:"artifact_id"`
	ID         string          `json:"interaction_id"`
	Role       string          `json:"role"`
	Status     string          `json:"status"`
	Input      *string         `json:"input"`
	Output     *string         `json:"output"`
	IsLast     bool            `json:"is_last"`
	Additional json.RawMessage `json:"additional_input"`
	Result     json.RawMessage `json:"additional_output"`
	Memory     json.RawMessage
	Artifacts  []struct {
		ID       string `json:"artifact_id"`
		FileName string `json:"file_name"`
	}
	Topics, Interactions, Tasks, Steps []json.RawMessage
	Pagination                         struct {
		Total int `json:"total_items"`
	}
}

func (s *topicResponse) UnmarshalJSON(b []byte) error {
	type plain topicResponse
	tagged := struct {
		*plain
		TaskID *string `json:"task_id"`
	}{plain: (*plain)(s)}
	err := json.Unmarshal(b, &tagged)
	s.TaskID = tagged.TaskID
	return err
}

func (b *topicBridge) ask(method, path, body string) topicResponse {
	b.t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.url+path, reader)
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if rest, ok := strings.CutPrefix(body, "--"); ok {
		boundary, _, _ := strings.Cut(rest, "\r\n")
		req.Header.Set("Content-Type", "multipart/form-data; boundary="+boundary)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	said := topicResponse{status: res.StatusCode, body: string(raw)}
	if rig.IsJSON(res.Header) {
		if err := json.Unmarshal(raw, &said); err != nil {
			b.t.Fatalf("%s %s: %v in %s", method, path, err, raw)
		}
	}
	b.doc.Check(b.t, method, path, res.StatusCode, res.Header, raw)
	return said
}

// want is ask for a response with this status.
func (b *topicBridge) want(status int, method, path, body string) topicResponse {
	b.t.Helper()
	said := b.ask(method, path, body)
	if said.status != status {
		b.t.Fatalf("%s %s %s: got %d %s, want %d", method, path, body, said.status, said.body, status)
	}
	return said
}

// drive requests steps until the last one or a question, and returns their outputs.
func (b *topicBridge) drive(task string) (outputs []string, last bool) {
	b.t.Helper()
	for range 10 {
		step := b.want(200, "POST", task+"/steps", "")
		outputs = append(outputs, deref(step.Output))
		if step.IsLast || strings.Contains(deref(step.Output), "What shall") {
			return outputs, step.IsLast
		}
	}
	b.t.Fatalf("the task does not end: %q", outputs)
	return nil, false
}

func deref(s *string) string {
	if s == nil {
		return "<null>"
	}
	return *s
}

// conversation returns the role and text of each interaction.
func (b *topicBridge) conversation(topic string) (lines []string) {
	b.t.Helper()
	list := b.want(200, "GET", topic+"/interactions?page_size=100", "")
	for _, raw := range list.Interactions {
		var said topicResponse
		if err := json.Unmarshal(raw, &said); err != nil {
			b.t.Fatal(err)
		}
		one := b.want(200, "GET", topic+"/interactions/"+said.ID, "")
		if one.body != string(raw) {
			b.t.Errorf("read:   %s\nlisted: %s", one.body, raw)
		}
		text := said.Output
		if said.Role != "agent" {
			text = said.Input
		}
		lines = append(lines, said.Role+": "+deref(text))
	}
	if list.Pagination.Total != len(list.Interactions) {
		b.t.Errorf("total_items is %d of %d", list.Pagination.Total, len(list.Interactions))
	}
	return lines
}

// kinds has the path prefixes of the two agents.
var kinds = map[string]string{"step agent": "/ap/v2/topics", "thread agent": "/agents/graph/ap/v2/topics"}

func TestTopics(t *testing.T) {
	t.Parallel()
	b := startTopics(t)
	for name, root := range kinds {
		t.Run(name, func(t *testing.T) {
			b := &topicBridge{t: t, url: b.url, doc: b.doc}
			b.talk(root, name == "step agent")
		})
	}
}

func (b *topicBridge) talk(root string, steps bool) {
	t := b.t
	topic := b.want(201, "POST", root, `{"name":"Holidays","additional_input":{"who":"ann"}}`)
	path := root + "/" + topic.TopicID
	if topic.Status != "idle" || string(topic.Additional) != `{"who":"ann"}` || string(topic.Memory) != `{}` {
		t.Errorf("a new topic: %s", topic.body)
	}
	first := b.want(201, "POST", path+"/interactions", `{"input":"the sea","additional_input":{"depth":2}}`)
	if first.TaskID == nil || first.Role != "user" {
		t.Fatalf("no task was created: %s", first.body)
	}
	if before := b.want(200, "GET", path+"/interactions/"+first.ID, ""); before.body != first.body {
		t.Errorf("before the first step: %s\nas created: %s", before.body, first.body)
	}
	if got := b.conversation(path); !cmp.Equal(got, []string{"user: the sea"}) {
		t.Errorf("before the first step: %q", got)
	}
	task := path + "/tasks/" + *first.TaskID
	outputs, last := b.drive(task)
	if !last {
		t.Fatalf("the agent asked: %q", outputs)
	}
	answer := outputs[len(outputs)-1]
	if got := b.conversation(path); !cmp.Equal(got, []string{"user: the sea", "agent: " + answer}) {
		t.Errorf("after the last step: %q, steps %q", got, outputs)
	}
	if after := b.want(200, "GET", path+"/interactions/"+first.ID, ""); after.body != first.body {
		t.Errorf("after the last step: %s\nas created: %s", after.body, first.body)
	}
	b.want(201, "POST", path+"/interactions", `{"role":"system","input":"be brief"}`)
	b.want(201, "POST", path+"/interactions", `{"input":"I like blue","additional_input":{"derive_task":false}}`)
	b.want(201, "POST", path+"/interactions", `{"role":"agent","input":"noted","additional_input":{"sure":true}}`)
	second := b.want(201, "POST", path+"/tasks", `{"input":"the hills"}`)
	outputs, _ = b.drive(path + "/tasks/" + *second.TaskID)
	want := []string{
		"user: the sea", "agent: " + answer, "system: be brief", "user: I like blue", "agent: noted",
		"user: the hills", "agent: " + outputs[len(outputs)-1],
	}
	if diff := cmp.Diff(want, b.conversation(path)); diff != "" {
		t.Errorf("the conversation (-want +got):\n%s", diff)
	}
	b.shared(root, path, topic.TopicID, task, *second.TaskID)
}

// shared checks the files, steps and memory that the tasks of a topic share, and the same objects in other views.
func (b *topicBridge) shared(root, path, topic, task, second string) {
	t := b.t
	if list := b.want(200, "GET", path+"/tasks", ""); len(list.Tasks) != 2 || list.Pagination.Total != 2 {
		t.Errorf("tasks: %s", list.body)
	}
	files := b.want(200, "GET", path, "").Artifacts
	if len(files) != 1 || files[0].FileName != "answer.txt" {
		t.Fatalf("artifacts of the topic: %v", files)
	}
	for _, id := range []string{task, path + "/tasks/" + second} {
		list := b.want(200, "GET", id+"/artifacts", "")
		if len(list.Artifacts) != 1 || list.Artifacts[0].ID != files[0].ID {
			t.Errorf("artifacts of %s: %s", id, list.body)
		}
		if file := b.want(200, "GET", id+"/artifacts/"+files[0].ID, ""); !strings.Contains(file.body, "the hills") {
			t.Errorf("the file: %q", file.body)
		}
	}
	form := "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"map.txt\"\r\n\r\nhere\r\n--x--\r\n"
	b.want(201, "POST", task+"/artifacts", form)
	if list := b.want(200, "GET", path, "").Artifacts; len(list) != 2 {
		t.Errorf("after an upload: %v", list)
	}
	steps := b.want(200, "GET", task+"/steps", "")
	var one topicResponse
	if err := json.Unmarshal(steps.Steps[0], &one); err != nil || one.TopicID != topic {
		t.Errorf("a step: %s", steps.Steps[0])
	}
	b.want(200, "GET", task+"/steps/"+one.StepID, "")
	v1 := strings.Replace(root, "/ap/v2/topics", "/ap/v1/agent/tasks/", 1) + second
	if got := b.want(200, "GET", v1, ""); deref(got.TaskID) != second || got.TopicID != "" {
		t.Errorf("in v1: %s", got.body)
	}
	b.want(200, "POST", "/threads/"+topic+"/state", `{"values":{"colour":"blue"}}`)
	b.want(204, "PUT", "/store/items", fmt.Sprintf(`{"namespace":["topics",%q],"key":"diet","value":{"fish":true}}`, topic))
	var memory map[string]json.RawMessage
	if got := b.want(200, "GET", path, ""); json.Unmarshal(got.Memory, &memory) != nil || string(memory["diet"]) != `{"fish":true}` || memory["messages"] != nil || memory["files"] != nil {
		t.Errorf("memory: %s", got.body)
	}
}

// A question of an agent is an interaction, and so is its answer.
func TestTopicQuestions(t *testing.T) {
	t.Parallel()
	b := startTopics(t)
	for name, root := range kinds {
		t.Run(name, func(t *testing.T) {
			b := &topicBridge{t: t, url: b.url, doc: b.doc}
			path := root + "/" + b.want(201, "POST", root, "").TopicID
			said := b.want(201, "POST", path+"/interactions", `{"input":"ask me"}`)
			task := path + "/tasks/" + deref(said.TaskID)
			if outputs, last := b.drive(task); last {
				t.Fatalf("the agent did not ask: %q", outputs)
			}
			if got := b.want(200, "GET", path, ""); got.Status != "interrupted" {
				t.Errorf("status is %s", got.Status)
			}
			asked := b.conversation(path)
			if asked[len(asked)-1] != "agent: What shall "+map[bool]string{true: "the file say?", false: "the answer say?"}[name == "step agent"] {
				t.Errorf("the question: %q", asked)
			}
			answer := b.want(201, "POST", path+"/interactions", `{"input":"hello","additional_input":{"tone":"soft"}}`)
			if deref(answer.TaskID) != deref(said.TaskID) {
				t.Errorf("the answer went to another task: %s", answer.body)
			}
			outputs, last := b.drive(task)
			if !last {
				t.Fatalf("the agent asked again: %q", outputs)
			}
			got := b.conversation(path)
			if !slices.Contains(got, "user: hello") || got[len(got)-1] != "agent: "+outputs[len(outputs)-1] {
				t.Errorf("the conversation: %q, steps %q", got, outputs)
			}
			if after := b.want(200, "GET", path+"/interactions/"+answer.ID, ""); after.body != answer.body {
				t.Errorf("later:   %s\ncreated: %s", after.body, answer.body)
			}
		})
	}
}

// A task may begin while a question is open. After that, an agent with one state for the whole topic no longer has the
// question. An agent that separates tasks still has it.
func TestTopicQuestionLeftOpen(t *testing.T) {
	t.Parallel()
	b := startTopics(t)
	for name, root := range kinds {
		t.Run(name, func(t *testing.T) {
			b := &topicBridge{t: t, url: b.url, doc: b.doc}
			path := root + "/" + b.want(201, "POST", root, "").TopicID
			asks := path + "/tasks/" + deref(b.want(201, "POST", path+"/interactions", `{"input":"ask me"}`).TaskID)
			b.drive(asks)
			other := b.want(201, "POST", path+"/interactions", `{"input":"never mind","additional_input":{"derive_task":true}}`)
			if asks == path+"/tasks/"+deref(other.TaskID) {
				t.Fatal("the second task is the first one")
			}
			if _, last := b.drive(path + "/tasks/" + deref(other.TaskID)); !last {
				t.Error("the other task did not end")
			}
			late := b.ask("POST", asks+"/steps", `{"input":"hello"}`)
			if want := map[string]int{"step agent": 200, "thread agent": 409}[name]; late.status != want {
				t.Errorf("the late answer: %d %s, want %d", late.status, late.body, want)
			}
		})
	}
}

// Tasks of a topic run one after the other. A task whose next step was not requested blocks the others, and another
// task's strategy decides whether it ends.
func TestTopicStrategies(t *testing.T) {
	t.Parallel()
	b := startTopics(t)
	const root = "/ap/v2/topics"
	path := root + "/" + b.want(201, "POST", root, "").TopicID
	first := path + "/tasks/" + deref(b.want(201, "POST", path+"/tasks", `{"input":"one"}`).TaskID)
	second := path + "/tasks/" + deref(b.want(201, "POST", path+"/tasks", `{"input":"two","additional_input":{"multitask_strategy":"sequence"}}`).TaskID)
	third := path + "/tasks/" + deref(b.want(201, "POST", path+"/tasks", `{"input":"three","additional_input":{"multitask_strategy":"interrupt"}}`).TaskID)
	b.want(200, "POST", first+"/steps", "")
	for range 2 {
		if got := b.want(409, "POST", second+"/steps", ""); !strings.Contains(got.body, filepath.Base(first)) {
			t.Errorf("the refusal does not name the task: %s", got.body)
		}
	}
	if got := b.want(200, "GET", path, ""); got.Status != "interrupted" {
		t.Errorf("with a parked task the topic is %s", got.Status)
	}
	if list := b.want(200, "GET", second+"/steps", ""); len(list.Steps) != 0 {
		t.Errorf("a refused step is listed: %s", list.body)
	}
	if _, last := b.drive(third); !last {
		t.Error("the third task did not end")
	}
	if got := b.want(200, "POST", first+"/steps", ""); !got.IsLast || !strings.Contains(string(got.Result), "cancelled") {
		t.Errorf("the displaced task: %s", got.body)
	}
	outputs, _ := b.drive(second)
	want := []string{"user: one", "agent: I was asked: one. I was given 0 file(s). I will write answer.txt.", "agent: Error: The run was cancelled.",
		"user: three", "agent: Done: three", "user: two", "agent: " + outputs[len(outputs)-1]}
	if diff := cmp.Diff(want, b.conversation(path)); diff != "" {
		t.Errorf("the conversation (-want +got):\n%s", diff)
	}
}

// Of two concurrent clients, the second gets an error or its turn.
func TestConcurrentTasksOfATopic(t *testing.T) {
	t.Parallel()
	b := startTopics(t)
	for name, root := range kinds {
		t.Run(name, func(t *testing.T) {
			b := &topicBridge{t: t, url: b.url, doc: b.doc}
			path := root + "/" + b.want(201, "POST", root, "").TopicID
			type result struct {
				task string
				said topicResponse
			}
			results := make(chan result)
			for _, input := range []string{"one", "two", "three"} {
				task := path + "/tasks/" + deref(b.want(201, "POST", path+"/tasks", `{"input":"`+input+`"}`).TaskID)
				go func() { results <- result{task, b.ask("POST", task+"/steps", "")} }()
			}
			var refused []string
			for range 3 {
				r := <-results
				switch {
				case r.said.status == 409 && name == "step agent":
					refused = append(refused, r.task)
				case r.said.status != 200:
					t.Errorf("%s: %d %s", r.task, r.said.status, r.said.body)
				case !r.said.IsLast:
					if _, last := b.drive(r.task); !last {
						t.Errorf("%s did not end", r.task)
					}
				}
			}
			for _, task := range refused {
				b.drive(task)
			}
			if got := b.conversation(path); len(got) != 6 {
				t.Errorf("the conversation: %q", got)
			}
		})
	}
}
