package stateupdate_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/service/servicetest"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite"
)

// keeper is a thread/run agent that accepts state updates and counts them.
type keeper struct {
	*servicetest.Agent
	before func()                          // called when an update arrives
	asked  func(ctx context.Context) error // called instead of accepting it

	mu       sync.Mutex
	messages []json.RawMessage
	told     int
}

func (k *keeper) UpdateState(ctx context.Context, _ adapter.Copy, _ *adapter.Fork, values json.RawMessage, _ string) (adapter.State, error) {
	if k.before != nil {
		k.before()
	}
	if k.asked != nil {
		if err := k.asked(ctx); err != nil {
			return adapter.State{}, err
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	var given struct {
		Messages []json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal(values, &given); err != nil {
		return adapter.State{}, err
	}
	k.told++
	k.messages = append(k.messages, given.Messages...)
	state, err := json.Marshal(map[string]any{"messages": k.messages})
	return adapter.State{Values: state, Checkpoint: fmt.Sprint("up", k.told)}, err
}

// keeps replaces graph with an agent that accepts state updates, and creates a thread whose state it has.
func (b *bench) keeps(t *testing.T, k *keeper, others ...*bench) (thread string) {
	t.Helper()
	k.Agent = b.Graph
	b.Graph.Does(func(ctx context.Context, task adapter.Assignment, yield servicetest.Yielder) {
		servicetest.Nodes("a")(ctx, task, func(ev mapping.Event, err error) bool {
			if ev.Head.Link != nil {
				ev.Head.Link = &mapping.Link{Remote: "up", RemoteMark: "mark"}
			}
			return yield(ev, err)
		})
	})
	for _, o := range append(others, b) {
		o.Close()
		o.Taker = k
		o.Open(t)
	}
	r, _ := b.Start(t, t.Context(), servicetest.NewRun(mapping.NewID(), "graph", "hi"))
	st, err := b.GetState(t.Context(), r.ThreadID, "")
	if err != nil {
		t.Fatal(err)
	}
	var has struct {
		Messages []json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal(st.Values, &has); err != nil {
		t.Fatal(err)
	}
	k.messages = has.Messages
	return r.ThreadID
}

func adds(words string) adapter.StateUpdate {
	return adapter.StateUpdate{Values: json.RawMessage(fmt.Sprintf(`{"messages":[{"id":%q,"type":"human","content":%[1]q}]}`, words))}
}

// C6: concurrent state updates, even on several bridges, are each sent to the agent once and applied once.
func TestConcurrentStateUpdatesReachTheAgentOnce(t *testing.T) {
	t.Parallel()
	test := func(t *testing.T, all []*bench) {
		k := &keeper{}
		thread := all[0].keeps(t, k, all[1:]...)
		var wg sync.WaitGroup
		var want []string
		for i := range 8 {
			words := fmt.Sprintf("word %d.", i)
			want = append(want, words)
			wg.Go(func() {
				if _, err := all[i%len(all)].UpdateState(t.Context(), thread, adds(words)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if k.told != len(want) {
			t.Errorf("the agent received %d updates, %d times", len(want), k.told)
		}
		for i, b := range all {
			st, err := b.GetState(t.Context(), thread, "")
			if err != nil {
				t.Fatal(err)
			}
			for _, words := range want {
				if n := strings.Count(string(st.Values), `"content":"`+words); n != 1 {
					t.Errorf("bridge %d: %q is in the state %d times", i, words, n)
				}
			}
		}
	}
	t.Run("one bridge", func(t *testing.T) { t.Parallel(); test(t, []*bench{setup(t)}) })
	t.Run("replicas", func(t *testing.T) { t.Parallel(); test(t, replicas(t, 2)) })
}

// C19: an update that is refused because a run is active is not sent to the agent. A run created while the agent
// receives an update waits for it and starts from its result.
func TestStateUpdateAndRunDoNotOverlap(t *testing.T) {
	t.Parallel()
	b := setup(t)
	asked, goOn := make(chan struct{}), make(chan struct{})
	k := &keeper{before: func() { asked <- struct{}{}; <-goOn }}
	thread := b.keeps(t, k)
	updated := make(chan error)
	go func() {
		_, err := b.UpdateState(t.Context(), thread, adds("between"))
		updated <- err
	}()
	<-asked
	begun, release := make(chan struct{}, 1), make(chan struct{})
	b.Graph.Does(servicetest.Held(begun, release, servicetest.Nodes("later")))
	st, err := b.StartRun(t.Context(), new(servicetest.NewRun(thread, "graph", "go on")))
	if err != nil {
		t.Fatal(err)
	}
	if st.Run.Status != mapping.RunPending {
		t.Errorf("a run is %s while the state is being changed", st.Run.Status)
	}
	close(goOn)
	if err := <-updated; err != nil {
		t.Fatal(err)
	}
	<-begun
	_, err = b.UpdateState(t.Context(), thread, adds("too late"))
	if class(err) != mapping.Conflict || k.told != 1 {
		t.Errorf("received %d times, %v", k.told, err)
	}
	close(release)
	b.Wait(t, t.Context(), st.Run)
	last, err := b.GetState(t.Context(), thread, "")
	if err != nil {
		t.Fatal(err)
	}
	if s := string(last.Values); !strings.Contains(s, "between") || !strings.Contains(s, "go on") || strings.Contains(s, "too late") {
		t.Errorf("the state: %s", s)
	}
}

// Two concurrent state updates with the same key reach the agent once.
func TestConcurrentUpdatesWithOneKeyReachTheAgentOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	k := &keeper{}
	thread := b.keeps(t, k)
	words, no := "only once", false
	var wg sync.WaitGroup
	ids := make([]string, 4)
	for i := range ids {
		wg.Go(func() {
			said, err := b.Say(t.Context(), adapter.InteractionRequest{
				Ref: adapter.TopicRef{Agent: "graph", ID: thread}, Input: &words, Derive: &no, IdempotencyKey: "k",
			})
			if err != nil {
				t.Error(err)
			}
			ids[i] = said.ID
		})
	}
	wg.Wait()
	if d := cmp.Diff([]string{ids[0], ids[0], ids[0], ids[0]}, ids); d != "" || k.told != 1 {
		t.Errorf("received %d times, %s", k.told, d)
	}
}

// A repeated interaction is an error if the object it created cannot be read.
func TestUnreadableRepeatedInteractionIsAnError(t *testing.T) {
	t.Parallel()
	storetest.File(t)
	b := setup(t)
	thread := b.keeps(t, &keeper{})
	words, no := "once", false
	said := adapter.InteractionRequest{Ref: adapter.TopicRef{Agent: "graph", ID: thread}, Input: &words, Derive: &no, IdempotencyKey: "k"}
	if _, err := b.Say(t.Context(), said); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Say(t.Context(), said); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+b.Path+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), `ALTER TABLE runs DROP COLUMN cancel_reason`); err != nil {
		t.Fatal(err)
	}
	if again, err := b.Say(t.Context(), said); class(err) != mapping.Internal {
		t.Errorf("%+v, %v", again, err)
	}
}

// P B14: a list of values is reduced in order into one checkpoint, by the bridge and by an agent. If an agent refuses a
// value in the middle, the ones before remain.
func TestAListOfValuesIsOneUpdate(t *testing.T) {
	t.Parallel()
	two := adds("one.")
	two.Then = []json.RawMessage{adds("two.").Values}
	for name, agent := range map[string]string{"by the bridge": "legacy", "by an agent": "graph"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, k := setup(t), &keeper{}
			thread := b.keeps(t, k)
			if agent == "legacy" {
				r, _ := b.Start(t, t.Context(), servicetest.NewRun(mapping.NewID(), agent, "hi"))
				thread = r.ThreadID
			}
			before := len(b.history(t, thread))
			if _, err := b.UpdateState(t.Context(), thread, two); err != nil {
				t.Fatal(err)
			}
			states := b.history(t, thread)
			s := string(states[0].Values)
			if one, second := strings.Index(s, `"one."`), strings.Index(s, `"two."`); one < 0 || second < one || len(states) != before+1 {
				t.Errorf("%d checkpoints more, the state: %s", len(states)-before, s)
			}
			if agent == "legacy" {
				return
			}
			bad := adds("three.")
			bad.Then = []json.RawMessage{json.RawMessage(`{"messages":7}`)}
			_, err := b.UpdateState(t.Context(), thread, bad)
			if s := string(b.history(t, thread)[0].Values); err == nil || !strings.Contains(s, `"three."`) {
				t.Errorf("refused in the middle: %v, the state: %s", err, s)
			}
		})
	}
}

func (b *bench) history(t *testing.T, thread string) (list []adapter.ThreadState) {
	t.Helper()
	for st, err := range b.StateHistory(t.Context(), thread, adapter.HistoryQuery{Limit: 100}) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, st)
	}
	return list
}
