package store

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
)

// made is a thread of a store's own making, which it remembers.
func made(t *testing.T, s *Store, th mapping.Thread) mapping.Thread {
	t.Helper()
	th.ID = mapping.NewID()
	th, _, err := s.CreateThread(context.Background(), NewThread{Thread: th, Events: []mapping.Event{{
		Kind: mapping.KindState, Data: []byte(`{"a":1}`), Head: mapping.Head{Checkpoint: &mapping.Checkpoint{ID: mapping.NewID(), Source: "update"}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return th
}

// read is a thread as it is in the file.
func read(t *testing.T, s *Store, id string) (th mapping.Thread, there bool) {
	t.Helper()
	var row threadRow
	err := s.read1(context.Background(), func(x *tx) (err error) {
		row, err = readThread(x, scope{}, id)
		return noThread(err, id)
	})
	if err != nil && mapping.Classify(err).Class != mapping.NotFound {
		t.Fatal(err)
	}
	return row.Thread, err == nil
}

func TestAFreshThreadIsRememberedAsItIsStored(t *testing.T) {
	t.Parallel()
	s := openInside(t)
	for _, th := range []mapping.Thread{
		{}, {Owner: "somebody", Metadata: []byte(`{ "k": "<é>" }`), Config: []byte(`{"c":1}`)},
		{CreatedAt: time.Date(2026, 1, 2, 3, 4, 5, 678_901, time.FixedZone("x", 3600)), Expires: time.Now().Add(time.Hour)},
		{Status: mapping.ThreadInterrupted, Interrupts: []mapping.Interrupt{{ID: "i", Value: []byte(`"?"`)}}},
	} {
		th := made(t, s, th)
		kept, ok := s.freshThread("", th.ID)
		stored, _ := read(t, s, th.ID)
		if d := cmp.Diff(stored, kept); !ok || d != "" {
			t.Errorf("remembered: %t, otherwise than stored (-stored +remembered):\n%s", ok, d)
		}
		if _, ok := s.freshThread("another tenant", th.ID); ok {
			t.Error("another tenant's thread is remembered")
		}
	}
	large := made(t, s, mapping.Thread{Metadata: []byte(`{"k":"` + strings.Repeat("x", freshMost) + `"}`)})
	if _, ok := s.freshThread("", large.ID); ok {
		t.Error("a large thread is kept in memory")
	}
}

// Whatever is done with a thread is seen by who reads it afterwards.
func TestAThreadIsNotRememberedAsItWas(t *testing.T) {
	t.Parallel()
	s, ctx := openInside(t), context.Background()
	event := func() []mapping.Event {
		return []mapping.Event{{Kind: mapping.KindState, Data: []byte(`{"b":1}`), Head: mapping.Head{Checkpoint: &mapping.Checkpoint{ID: mapping.NewID(), Source: "update"}}}}
	}
	run := func(th mapping.Thread) mapping.Run {
		id := mapping.NewID()
		return mapping.Run{ID: id, ThreadID: th.ID, TaskID: id, Agent: "a"}
	}
	for name, do := range map[string]func(th mapping.Thread) error{
		"patched": func(th mapping.Thread) error {
			_, err := s.PatchThread(ctx, th.ID, []byte(`{"k":2}`), nil)
			return err
		},
		"state": func(th mapping.Thread) error {
			_, err := s.AppendState(ctx, th.ID, th.Head, event(), StateOptions{})
			return err
		},
		"run": func(th mapping.Thread) error {
			r := run(th)
			_, err := s.CreateRun(ctx, NewRun{Run: r, Task: &mapping.Task{ID: r.ID, Agent: "a"}, Claim: true})
			return err
		},
		"run that makes it if it is not there": func(th mapping.Thread) error {
			r := run(th)
			_, err := s.CreateRun(ctx, NewRun{Run: r, Thread: &mapping.Thread{ID: th.ID}, Task: &mapping.Task{ID: r.ID, Agent: "a"}, Claim: true})
			return err
		},
		"deleted": func(th mapping.Thread) error { return s.DeleteThread(ctx, th.ID) },
		"expired": func(th mapping.Thread) error {
			soon := time.Now().Add(-time.Hour)
			if _, err := s.PatchThread(ctx, th.ID, nil, &Expire{At: soon}); err != nil {
				return err
			}
			list, _, err := s.OverdueThreads(ctx, Expiry{Now: time.Now(), Before: time.Now()}, 10)
			if err == nil {
				_, err = s.DeleteThreads(ctx, list)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			th := made(t, s, mapping.Thread{})
			if _, ok := s.freshThread("", th.ID); !ok {
				t.Fatal("the thread is not remembered")
			}
			if err := do(th); err != nil {
				t.Fatal(err)
			}
			got, err := s.Thread(ctx, th.ID)
			want, there := read(t, s, th.ID)
			if d := cmp.Diff(want, got); d != "" || there != (err == nil) {
				t.Errorf("(-stored +read, %v):\n%s", err, d)
			}
			if cmp.Equal(th, got) {
				t.Error("nothing has changed")
			}
		})
	}
}

// A thread's key may be another thread's once it is deleted, and be so before those who
// know it by name have heard of it: in the transaction that deletes it, and for whoever
// reads meanwhile.
func TestAKeyIsNotRememberedBeyondItsThread(t *testing.T) {
	t.Parallel()
	s, ctx := openInside(t), context.Background()
	th := made(t, s, mapping.Thread{})
	err := s.write(ctx, func(x *tx) error {
		key, err := threadKey(x, scope{}, th.ID)
		if err == nil {
			err = deleteAll(x, key, threadParts)
		}
		if err != nil {
			return err
		}
		if _, err := threadKey(x, scope{}, th.ID); mapping.Classify(err).Class != mapping.NotFound {
			t.Errorf("behind its deletion the thread has a key (%v)", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Artifacts(ctx, th.ID, 0, 0); mapping.Classify(err).Class != mapping.NotFound {
		t.Errorf("files are listed of a thread that is gone (%v)", err)
	}
}
