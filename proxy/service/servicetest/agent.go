package servicetest

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
)

// Yielder receives the events of a backend.
type Yielder = func(mapping.Event, error) bool

// Agent is a backend scripted by a test. Safe for concurrent use.
type Agent struct {
	Kind  adapter.Traits
	Calls atomic.Int64

	mu  sync.Mutex
	run func(ctx context.Context, t adapter.Assignment, yield Yielder)
}

// Traits returns the configured traits.
func (a *Agent) Traits() adapter.Traits { return a.Kind }

// Does replaces the agent's script from the next run on.
func (a *Agent) Does(run func(ctx context.Context, t adapter.Assignment, yield Yielder)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.run = run
}

// Run executes the script.
func (a *Agent) Run(ctx context.Context, t *adapter.Assignment) iter.Seq2[mapping.Event, error] {
	a.Calls.Add(1)
	a.mu.Lock()
	run := a.run
	a.mu.Unlock()
	return func(yield func(mapping.Event, error) bool) { run(ctx, *t, yield) }
}

// Linked returns the event with the agent's id for its thread or task.
func Linked() mapping.Event {
	return mapping.Event{Kind: mapping.KindLinked, Head: mapping.Head{Link: &mapping.Link{Remote: "up"}}}
}

// End returns the event with the outcome of a run.
func End(o mapping.Outcome) mapping.Event {
	return mapping.Event{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &o}}
}

// Lockstep returns a script that makes one step per call of a task with n steps.
func Lockstep(n int) func(context.Context, adapter.Assignment, Yielder) {
	return func(_ context.Context, t adapter.Assignment, yield Yielder) {
		done := 0
		for _, ev := range t.After {
			if ev.Kind == mapping.KindUpdate {
				done++
			}
		}
		if done == 0 && !yield(Linked(), nil) {
			return
		}
		for ; done < n; done++ {
			said := "nothing"
			if t.StepText != nil {
				said = *t.StepText
			}
			output, _ := json.Marshal(fmt.Sprintf("step %d, told %s", done+1, said))
			ev := rule.StepUpdate(t.Run.ID, t.TaskID, done+1, mapping.StepInfo{Output: output, SaysLast: done+1 == n, ID: fmt.Sprint("s", done+1)}, nil, mapping.ApprovalAuto)
			if !yield(ev, nil) {
				return
			}
			if t.OneStep && done+1 < n {
				yield(End(mapping.Outcome{Parked: true}), nil)
				return
			}
		}
		yield(End(mapping.Outcome{Status: mapping.RunSuccess}), nil)
	}
}

// Nodes returns a script for a graph of the named nodes, each of which adds a message.
func Nodes(names ...string) func(context.Context, adapter.Assignment, Yielder) {
	return func(_ context.Context, t adapter.Assignment, yield Yielder) {
		if !yield(Linked(), nil) {
			return
		}
		messages := t.State.Messages()
		messages = append(messages, t.Input.Messages...)
		for i, name := range names {
			m := json.RawMessage(fmt.Sprintf(`{"id":"%s-%s","type":"ai","content":"said by %s"}`, t.Run.ID, name, name))
			messages = append(messages, m)
			state, _ := json.Marshal(map[string]any{"messages": messages})
			cp := &mapping.Checkpoint{Source: "loop", Step: i, Remote: t.Run.ID + name}
			ok := yield(mapping.Event{Kind: mapping.KindUpdate, Data: json.RawMessage(`{"messages":[` + string(m) + `]}`), Head: mapping.Head{Node: name}}, nil) &&
				yield(mapping.Event{Kind: mapping.KindState, Data: state, Head: mapping.Head{Full: true, Name: "values", Checkpoint: cp}}, nil)
			if !ok {
				return
			}
		}
		yield(End(mapping.Outcome{Status: mapping.RunSuccess}), nil)
	}
}

// Asking is a script that asks one question and continues when it is answered.
func Asking(_ context.Context, t adapter.Assignment, yield Yielder) {
	if t.Resume {
		Nodes("after "+strings.Trim(string(t.Run.Options.Resume), `"`))(context.Background(), t, yield)
		return
	}
	ask := []mapping.Interrupt{{ID: "q1", Value: json.RawMessage(`"which colour?"`)}}
	_ = yield(Linked(), nil) && yield(mapping.Event{Kind: mapping.KindInterrupt, Head: mapping.Head{Interrupts: ask}}, nil) &&
		yield(End(mapping.Outcome{Status: mapping.RunInterrupted, Interrupts: ask}), nil)
}

// Held returns a script that waits until goOn is closed and then runs rest.
func Held(started chan<- struct{}, goOn <-chan struct{}, rest func(context.Context, adapter.Assignment, Yielder)) func(context.Context, adapter.Assignment, Yielder) {
	return func(ctx context.Context, t adapter.Assignment, yield Yielder) {
		started <- struct{}{}
		select {
		case <-goOn:
			rest(ctx, t, yield)
		case <-ctx.Done():
			yield(mapping.Event{}, context.Cause(ctx))
		}
	}
}
