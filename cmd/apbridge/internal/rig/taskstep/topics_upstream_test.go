package taskstep

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/google/go-cmp/cmp"
)

// topicsInFront starts a second bridge whose only agent is one of the first bridge.
func topicsInFront(t *testing.T, url string) *topicBridge {
	t.Helper()
	b := rig.Configured(t, "agents:\n  up: {url: "+url+", dialect: taskstep, stepping: {mode: free}}", nil)
	return &topicBridge{t: t, url: b.URL, doc: rig.NewJudge(t)}
}

// run runs the agent on a thread, and returns its last text.
func (b *topicBridge) run(thread, input string) string {
	b.t.Helper()
	body, err := json.Marshal(map[string]any{"assistant_id": "up", "input": map[string]any{"messages": []map[string]string{{"role": "user", "content": input}}}})
	if err != nil {
		b.t.Fatal(err)
	}
	got := b.want(200, "POST", "/threads/"+thread+"/runs/wait", string(body))
	var values struct {
		Messages []struct{ Content string }
		Error    json.RawMessage `json:"__error__"`
	}
	if err := json.Unmarshal([]byte(got.body), &values); err != nil || len(values.Messages) == 0 || values.Error != nil {
		b.t.Fatalf("the run: %s", got.body)
	}
	return values.Messages[len(values.Messages)-1].Content
}

// topics returns the number of topics and the input of every task.
func (b *topicBridge) topics(root string) (count int, inputs []string) {
	b.t.Helper()
	count = b.want(200, "GET", root, "").Pagination.Total
	tasks := strings.Replace(root, "/ap/v2/topics", "/ap/v1/agent/tasks", 1)
	for _, raw := range b.want(200, "GET", tasks, "").Tasks {
		var task struct{ Input string }
		if err := json.Unmarshal(raw, &task); err != nil {
			b.t.Fatal(err)
		}
		inputs = append(inputs, task.Input)
	}
	return count, inputs
}

// An agent with topics keeps the conversation of a thread itself. There is one topic per thread and one task per run,
// and no part of the conversation is sent twice. If the thread was changed without the agent, a new topic receives
// everything.
func TestAgentWithTopics(t *testing.T) {
	t.Parallel()
	back := startTopics(t)
	for name, prefix := range map[string]string{"step agent": "/agents/legacy", "thread agent": "/agents/graph"} {
		t.Run(name, func(t *testing.T) {
			back := &topicBridge{t: t, url: back.url, doc: back.doc}
			root := prefix + "/ap/v2/topics"
			front := topicsInFront(t, back.url+prefix)
			const thread = "0190e1f2-0000-7000-8000-000000000007"
			front.want(200, "POST", "/threads", `{"thread_id":"`+thread+`","metadata":{"name":"Holidays"}}`)
			one := front.run(thread, "one")
			two := front.run(thread, "two")
			count, inputs := back.topics(root)
			if count != 1 || !cmp.Equal(inputs, []string{"one", "two"}) {
				t.Fatalf("%d topics, tasks %q", count, inputs)
			}
			list := back.want(200, "GET", root, "")
			var topic struct {
				ID   string `json:"topic_id"`
				Name string
			}
			if err := json.Unmarshal(list.Topics[0], &topic); err != nil || topic.Name != "Holidays" {
				t.Errorf("the topic: %s", list.Topics[0])
			}
			want := []string{"user: one", "agent: " + one, "user: two", "agent: " + two}
			if diff := cmp.Diff(want, back.conversation(root+"/"+topic.ID)); diff != "" {
				t.Errorf("the conversation at the agent (-want +got):\n%s", diff)
			}
			front.want(200, "POST", "/threads/"+thread+"/state", `{"values":{"messages":[{"type":"human","content":"by the way"}]}}`)
			front.run(thread, "three")
			count, inputs = back.topics(root)
			if count != 2 || len(inputs) != 3 || !strings.Contains(inputs[2], "Conversation so far:\n\nUser: one\n") || !strings.Contains(inputs[2], "by the way") {
				t.Fatalf("after a change that the agent does not know: %d topics, tasks %q", count, inputs)
			}
			front.run(thread, "four")
			if count, inputs = back.topics(root); count != 2 || inputs[3] != "four" {
				t.Errorf("in the new topic: %d topics, tasks %q", count, inputs)
			}
			back.forget(root)
			front.run(thread, "five")
			if count, inputs = back.topics(root); count != 1 || len(inputs) != 1 || !strings.Contains(inputs[0], "User: four\n") {
				t.Errorf("after the agent's topics were deleted: %d topics, tasks %q", count, inputs)
			}
		})
	}
}

// forget deletes all topics.
func (b *topicBridge) forget(root string) {
	b.t.Helper()
	for _, raw := range b.want(200, "GET", root, "").Topics {
		var topic topicResponse
		if err := json.Unmarshal(raw, &topic); err != nil {
			b.t.Fatal(err)
		}
		b.want(204, "DELETE", "/threads/"+topic.TopicID, "")
	}
}

// An abandoned task does not block the next run.
func TestAgentWithTopicsAfterACancel(t *testing.T) {
	t.Parallel()
	back := startTopics(t)
	front := topicsInFront(t, back.url)
	const thread = "0190e1f2-0000-7000-8000-000000000008"
	front.want(200, "POST", "/threads", `{"thread_id":"`+thread+`"}`)
	got := front.want(200, "POST", "/threads/"+thread+"/runs/wait", `{"assistant_id":"up","interrupt_after":"*","input":{"messages":[{"role":"user","content":"one"}]}}`)
	if !strings.Contains(got.body, "__interrupt__") {
		t.Fatalf("the task did not stop: %s", got.body)
	}
	if last := front.run(thread, "two"); last != "Done: two" {
		t.Errorf("the next run: %q", last)
	}
	if count, inputs := back.topics("/ap/v2/topics"); count != 1 || !cmp.Equal(inputs, []string{"one", "two"}) {
		t.Errorf("%d topics, tasks %q", count, inputs)
	}
}
