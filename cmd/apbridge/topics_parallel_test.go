package main

import (
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/config"
)

// TestTopicTasksInParallel: in the RFC's words, tasks of a topic are executed in
// sequence or parallel. Where the agent has allow_concurrent, a second task
// begins and ends while the first one is at work; both stand in the conversation.
func TestTopicTasksInParallel(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]func(*config.Agent){"lockstep": lockstep, "free": free, "run": whole} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := adaptertest.NewStepAgent(adaptertest.Plain)
			g := newGate(agent, stepPosts, 1)
			b := inFront(t, g, mode, func(a *config.Agent) { a.AllowConcurrent = true })
			topic := "/ap/v2/topics/" + b.post("/ap/v2/topics", "").is(201).text("topic_id")
			task := func(words string) string {
				said := b.post(topic+"/interactions", `{"input":"`+words+`","additional_input":{"multitask_strategy":"parallel"}}`).is(201)
				return topic + "/tasks/" + said.text("task_id")
			}
			first, second := task("one"), task("two")
			done := make(chan answer, 1)
			go func() {
				a, _ := b.try(t.Context(), "POST", first+"/steps", "")
				done <- a
			}()
			g.await(t)
			pullAll(t, b, second, "")
			select {
			case a := <-done:
				t.Errorf("the first task did not stay at work: %s", a.body)
			default:
			}
			b.expect(topic, "status", "busy")
			g.open()
			(<-done).ok()
			if name != "run" {
				pullAll(t, b, first, "")
			}
			b.expect(topic, "status", "idle")
			if said := dialogue(b.get(topic + "/interactions").ok()); len(said) != 4 {
				t.Errorf("the conversation: %q", said)
			}
			if c := agent.Counts(); c.Creates != 2 || c.Steps != 6 {
				t.Errorf("%d tasks and %d steps, want 2 and 6", c.Creates, c.Steps)
			}
		})
	}
}
