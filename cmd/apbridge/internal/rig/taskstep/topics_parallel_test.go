package taskstep

import (
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
)

// TestTopicTasksInParallel checks that tasks of a topic are executed "in sequence or parallel" (RFC). With
// allow_concurrent, a second task begins and ends during the first one. Both are in the conversation.
func TestTopicTasksInParallel(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]func(*config.Agent){"lockstep": rig.Lockstep, "free": rig.Free, "run": rig.Whole} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := adaptertest.NewStepAgent(adaptertest.Plain)
			g := rig.NewGate(agent, rig.StepPosts, 1)
			b := rig.InFront(t, g, mode, func(a *config.Agent) { a.AllowConcurrent = true })
			topic := "/ap/v2/topics/" + b.Post("/ap/v2/topics", "").Is(201).Text("topic_id")
			task := func(words string) string {
				said := b.Post(topic+"/interactions", `{"input":"`+words+`","additional_input":{"multitask_strategy":"parallel"}}`).Is(201)
				return topic + "/tasks/" + said.Text("task_id")
			}
			first, second := task("one"), task("two")
			done := make(chan rig.Answer, 1)
			go func() {
				a, _ := b.Try(t.Context(), "POST", first+"/steps", "")
				done <- a
			}()
			g.Await(t)
			rig.PullAll(t, b, second, "")
			select {
			case a := <-done:
				t.Errorf("the first task did not remain active: %s", a.Body)
			default:
			}
			b.Expect(topic, "status", "busy")
			g.Open()
			(<-done).OK()
			if name != "run" {
				rig.PullAll(t, b, first, "")
			}
			b.Expect(topic, "status", "idle")
			if said := dialogue(b.Get(topic + "/interactions").OK()); len(said) != 4 {
				t.Errorf("the conversation: %q", said)
			}
			if c := agent.Counts(); c.Creates != 2 || c.Steps != 6 {
				t.Errorf("%d tasks and %d steps, want 2 and 6", c.Creates, c.Steps)
			}
		})
	}
}
