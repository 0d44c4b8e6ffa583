package service_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/service/servicetest"
	"github.com/apbridge/apbridge/proxy/store/item"
)

// asked counts searches by meaning. Each of them requests one vector.
type asked struct{ atomic.Int64 }

func (a *asked) Query(context.Context, string) ([]float32, error) {
	a.Add(1)
	return []float32{1, 0}, nil
}

func (a *asked) Documents(_ context.Context, texts []string) (vectors [][]float32, refused, err error) {
	return make([][]float32, len(texts)), nil, nil
}

// recalling is a bridge whose agents receive one item of the store, with a limit of concurrent runs each.
func recalling(t *testing.T, atATime int) (b *bench, searches *asked) {
	t.Helper()
	b, searches = setup(t, func(c *config.Config) {
		for name, a := range c.Agents {
			a.Concurrency, a.Memory.Namespaces, a.Memory.MaxItems = atATime, []string{"n"}, 1
			c.Agents[name] = a
		}
	}), new(asked)
	b.Meaning = &item.Index{Embed: searches, Dims: 2, Mark: "m"}
	b.Again(t)
	b.keep(t, `{"t":"green tea"}`)
	return b, searches
}

// keep writes the only item.
func (b *bench) keep(t *testing.T, value string) {
	t.Helper()
	if err := b.PutItem(t.Context(), adapter.PutItem{Namespace: []string{"n"}, Key: "k", Value: raw(value)}); err != nil {
		t.Fatal(err)
	}
}

// told records the items passed to an agent and continues with rest.
func told(to chan<- string, rest func(context.Context, adapter.Assignment, servicetest.Yielder)) func(context.Context, adapter.Assignment, servicetest.Yielder) {
	return func(ctx context.Context, a adapter.Assignment, yield servicetest.Yielder) {
		said := a.Task.Prompt
		for _, it := range a.Memory.Items {
			said += string(it.Value)
		}
		to <- said
		rest(ctx, a, yield)
	}
}

// The agent receives the result of its request's own search, for every way to create a run.
func TestRunThatStartsAtOnceGetsTheItemsItsRequestFound(t *testing.T) {
	t.Parallel()
	b, searches := recalling(t, 4)
	tells := make(chan string, 1)
	b.Legacy.Does(told(tells, servicetest.Lockstep(1)))
	b.Graph.Does(told(tells, servicetest.Nodes("a")))
	for name, start := range map[string]func(){
		"a task/step agent":      func() { b.Start(t, t.Context(), servicetest.NewRun("", "legacy", "tea")) },
		"a thread/run agent":     func() { b.Start(t, t.Context(), servicetest.NewRun("", "graph", "tea")) },
		"a task's first step":    func() { _, ref := b.Task(t, t.Context(), "legacy", "tea"); b.Step(t, t.Context(), ref, nil) },
		"a task before a thread": func() { _, ref := b.Task(t, t.Context(), "graph", "tea"); b.Step(t, t.Context(), ref, nil) },
	} {
		searches.Store(0)
		start()
		if got, n := <-tells, searches.Load(); n != 1 || !strings.Contains(got, "green tea") {
			t.Errorf("%s receives %q with %d searches", name, got, n)
		}
	}
}

// A run that had to wait receives the items that exist when it starts.
func TestRunThatWaitedGetsTheItemsAtItsStart(t *testing.T) {
	t.Parallel()
	b, searches := recalling(t, 1)
	begun, goOn := make(chan struct{}, 1), make(chan struct{})
	b.Legacy.Does(servicetest.Held(begun, goOn, servicetest.Lockstep(1)))
	if _, err := b.StartRun(t.Context(), new(servicetest.NewRun("", "legacy", "tea"))); err != nil {
		t.Fatal(err)
	}
	<-begun
	tells := make(chan string, 1)
	b.Legacy.Does(told(tells, servicetest.Lockstep(1)))
	searches.Store(0)
	waits, err := b.StartRun(t.Context(), new(servicetest.NewRun("", "legacy", "tea")))
	if err != nil || waits.Run.Status != mapping.RunPending {
		t.Fatalf("got %v, %v", waits.Run.Status, err)
	}
	b.keep(t, `{"t":"black tea"}`)
	close(goOn)
	b.Wait(t, t.Context(), waits.Run)
	if got, n := <-tells, searches.Load(); n != 2 || !strings.Contains(got, "black tea") {
		t.Errorf("received %q with %d searches", got, n)
	}
}
