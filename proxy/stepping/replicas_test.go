package stepping_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/service/servicetest"
	"github.com/google/go-cmp/cmp"
)

// steps returns the steps of a task as listed by a replica.
func (b *bench) steps(t *testing.T, ctx context.Context, ref adapter.TaskRef) (list []string) {
	t.Helper()
	steps, _, err := b.ListSteps(ctx, ref, adapter.Page{Number: 1, Size: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		list = append(list, told(s))
	}
	return list
}

func told(s mapping.Step) string {
	return fmt.Sprintf("%d %s last=%t", s.N, s.ID, s.IsLast)
}

func (b *bench) runsOf(t *testing.T, ctx context.Context, task string) int {
	t.Helper()
	runs, err := b.Store.Runs.List(ctx, mapping.RunQuery{TaskID: task})
	if err != nil {
		t.Fatal(err)
	}
	return len(runs)
}

// C3: concurrent POSTs for a task's first step, on several replicas and several on each, create one run, and each gets
// a different step.
func TestFirstStepsOnSeveralReplicasMakeOneRun(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"graph", "legacy"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := replicas(t, 3)
			for range 4 {
				task, ref := all[0].Task(t, t.Context(), name, "do it")
				var mu sync.Mutex
				got := map[int]int{}
				var wg sync.WaitGroup
				for i := range 3 {
					b := all[i%len(all)]
					wg.Go(func() {
						ctx, stop := context.WithTimeout(t.Context(), time.Minute)
						defer stop()
						h, err := b.ExecuteStep(ctx, ref, adapter.StepRequest{})
						if err != nil {
							t.Error(err)
							return
						}
						h.Confirm()
						mu.Lock()
						defer mu.Unlock()
						got[h.Step.N]++
					})
				}
				wg.Wait()
				if d := cmp.Diff(map[int]int{1: 1, 2: 1, 3: 1}, got); d != "" {
					t.Errorf("steps handed out: %s", d)
				}
				if n := all[0].runsOf(t, t.Context(), task.ID); n != 1 {
					t.Errorf("%d runs of the task", n)
				}
			}
		})
	}
}

// C4: input that arrives while a run continues is answered, whichever replica receives it. No step before the answer is
// the last, and all replicas list the same steps.
func TestInputDuringARunOnAnotherReplica(t *testing.T) {
	t.Parallel()
	all := replicas(t, 2)
	here, there := all[0], all[1]
	goOn := make(chan struct{})
	here.Graph.Does(func(ctx context.Context, task adapter.Assignment, yield servicetest.Yielder) {
		if len(task.State.Messages()) > 0 {
			servicetest.Nodes("more")(ctx, task, yield)
			return
		}
		servicetest.Nodes("a", "b", "c")(ctx, task, func(ev mapping.Event, err error) bool {
			if ev.Kind == mapping.KindEnd {
				<-goOn
			}
			return yield(ev, err)
		})
	})
	task, ref := here.Task(t, t.Context(), "graph", "do it")
	got := []mapping.Step{here.Step(t, t.Context(), ref, nil), there.Step(t, t.Context(), ref, say("and this"))}
	if n := here.runsOf(t, t.Context(), task.ID); n != 2 {
		t.Fatalf("%d runs", n)
	}
	close(goOn)
	for len(got) < 4 && !got[len(got)-1].IsLast {
		got = append(got, here.Step(t, t.Context(), ref, nil))
	}
	var list []string
	for _, s := range got {
		list = append(list, told(s))
	}
	if len(got) != 4 || !got[3].IsLast {
		t.Errorf("handed out: %v", list)
	}
	for _, b := range all {
		if d := cmp.Diff(list, b.steps(t, t.Context(), ref)); d != "" {
			t.Errorf("the list of steps (-handed out +listed): %s", d)
		}
	}
}

// A client fetches the last step at one replica while another replica receives more input. Either the step is not the
// last, or the input comes after it: the response agrees with the lists.
func TestLastStepAndInputAtOnce(t *testing.T) {
	t.Parallel()
	all := replicas(t, 2)
	here, there := all[0], all[1]
	here.Graph.Does(servicetest.Nodes("a", "b"))
	for range 20 {
		task, ref := here.Task(t, t.Context(), "graph", "do it")
		here.Step(t, t.Context(), ref, nil)
		servicetest.Eventually(t, "the run's end", func() bool {
			runs, err := here.Store.Runs.List(t.Context(), mapping.RunQuery{TaskID: task.ID})
			return err == nil && len(runs) == 1 && !runs[0].Status.Active()
		})
		there.steps(t, t.Context(), ref)
		var given [2]mapping.Step
		var wg sync.WaitGroup
		wg.Go(func() { given[0] = here.Step(t, t.Context(), ref, nil) })
		wg.Go(func() { given[1] = there.Step(t, t.Context(), ref, say("and this")) })
		wg.Wait()
		for _, b := range all {
			list := b.steps(t, t.Context(), ref)
			for _, s := range given {
				if s.N > len(list) || list[s.N-1] != told(s) {
					t.Errorf("told %q, listed %q", told(s), list)
				}
			}
		}
	}
}

// A replica that expected a task in another mode than the one that creates its first run (because of another
// configuration during an update, or an unknown agent) requests the steps in the mode of the run.
func TestFirstRunDeterminesTheMode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ first, other string }{{"lockstep", "free"}, {"free", "lockstep"}} {
		t.Run(c.first, func(t *testing.T) {
			t.Parallel()
			modes := make(chan string, 2)
			modes <- c.first
			modes <- c.other
			all := replicas(t, 2, func(cfg *config.Config) {
				a := cfg.Agents["legacy"]
				a.Stepping.Mode = <-modes
				cfg.Agents["legacy"] = a
			})
			_, ref := all[1].Task(t, t.Context(), "legacy", "do it")
			for n, b := range []*bench{all[0], all[1], all[1]} {
				if step := b.Step(t, t.Context(), ref, nil); step.N != n+1 || step.IsLast != (n == 2) {
					t.Errorf("POST %d: step %d, last: %t", n+1, step.N, step.IsLast)
				}
			}
		})
	}
}
