package service_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/service/servicetest"
	"github.com/apbridge/apbridge/proxy/store"
)

// A request with an Idempotency-Key creates its object only once, also if several arrive concurrently. A different
// request with the key is refused, and one without a key creates another object.
func TestRepeatedRequestCreatesOneObject(t *testing.T) {
	t.Parallel()
	b := setup(t)
	thread := mapping.NewID()
	b.Start(t, t.Context(), servicetest.NewRun(thread, "graph", "hi"))
	other, err := b.CreateThread(t.Context(), adapter.ThreadRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for what, make := range map[string]func(ctx context.Context, key string, another bool) (string, error){
		"copy": func(ctx context.Context, key string, another bool) (string, error) {
			if another {
				return "", nil // the route binds a request to its thread
			}
			th, err := b.CopyThread(ctx, thread, key)
			return th.ID, err
		},
		"state": func(ctx context.Context, key string, another bool) (string, error) {
			u := adapter.StateUpdate{Values: []byte(`{"k":1}`), IdempotencyKey: key}
			if another {
				u.Values = []byte(`{"k":2}`)
			}
			cp, err := b.UpdateState(ctx, thread, u)
			return cp.ID, err
		},
		"state without an agent": func(ctx context.Context, key string, another bool) (string, error) {
			u := adapter.StateUpdate{Values: []byte(`{"k":1}`), IdempotencyKey: key}
			if another {
				u.AsNode = "n"
			}
			cp, err := b.UpdateState(ctx, other.ID, u)
			return cp.ID, err
		},
		"assistant": func(ctx context.Context, key string, another bool) (string, error) {
			n := adapter.AssistantRequest{Graph: "graph", IdempotencyKey: key}
			if another {
				n.Name = "other"
			}
			a, err := b.CreateAssistant(ctx, n)
			return a.ID, err
		},
	} {
		first, err := make(t.Context(), "k", false)
		if err != nil || first == "" {
			t.Fatalf("%s: %q %v", what, first, err)
		}
		made := map[string]bool{first: true}
		answers := collect(4, func() (string, error) { return make(t.Context(), "k", false) })
		for range 4 {
			a := <-answers
			if a.err != nil {
				t.Errorf("%s again: %v", what, a.err)
			}
			made[a.id] = true
		}
		if len(made) != 1 {
			t.Errorf("%s: created %v", what, made)
		}
		if id, err := make(t.Context(), "k", true); id != "" || err != nil && mapping.Classify(err).Code != mapping.CodeKeyReused {
			t.Errorf("another %s under the key: %q %v", what, id, err)
		}
		if id, err := make(t.Context(), "", false); id == first || err != nil {
			t.Errorf("%s without a key: %q %v", what, id, err)
		}
		if _, err := make(t.Context(), string(bytes.Repeat([]byte("k"), 256)), false); mapping.Classify(err).Class != mapping.Invalid {
			t.Errorf("%s with a key that is too long: %v", what, err)
		}
	}
	points, err := b.Store.States.Checkpoints(t.Context(), other.ID, store.CheckpointQuery{})
	if err != nil || len(points) != 2 { // one with a key and one without
		t.Errorf("%d checkpoints were created: %v", len(points), err)
	}
}

type answer struct {
	id  string
	err error
}

func collect(n int, ask func() (string, error)) <-chan answer {
	got := make(chan answer, n)
	for range n {
		go func() {
			id, err := ask()
			got <- answer{id, err}
		}()
	}
	return got
}
