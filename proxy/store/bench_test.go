package store_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/seal"
	"github.com/apbridge/apbridge/proxy/store/storetest"
)

// benchRun performs the writes of a run of three steps: created with its thread, linked, three updates with
// checkpoints, ended.
func benchRun(b *harness) {
	n := newThreadRun()
	n.Events = append(n.Events, mapping.Event{Kind: mapping.KindInput, Data: []byte(`{"messages":[{"id":"1","type":"human","content":"hi"}]}`),
		Head: mapping.Head{Checkpoint: &mapping.Checkpoint{ID: id(), Source: "input"}}})
	c := b.create(n)
	a := store.Append{ThreadID: c.Run.ThreadID, RunID: c.Run.ID, Fence: c.Claimed.Fence}
	send := func(a store.Append) {
		_, _, err := b.Events.Append(b.ctx, a)
		b.ok(err)
	}
	linked := a
	link := mapping.Link{Agent: "echo", TaskID: c.Run.TaskID, Remote: id()}
	linked.Events = []mapping.Event{{Kind: mapping.KindLinked, Head: mapping.Head{Link: &link}}}
	linked.Links = []mapping.Link{link}
	send(linked)
	for i := range 3 {
		up := a
		up.Events = []mapping.Event{update(`{"messages":[{"id":"2","type":"ai","content":"this is an answer of some length, as agents give them","additional_kwargs":{}}]}`)}
		if i == 2 {
			e := ending(mapping.RunSuccess)
			up.End = &e
			up.Events = append(up.Events, mapping.Event{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &e.Outcome}})
		}
		send(up)
	}
}

func BenchmarkRunPostgres(b *testing.B) {
	for _, clients := range []int{1, 16} {
		b.Run(fmt.Sprint(clients), func(b *testing.B) { benchRuns(b, storetest.Schema(b), "full", clients, benchRun) })
	}
}

func BenchmarkRun(b *testing.B) {
	for _, mode := range []string{"normal", "full"} {
		for _, clients := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/%d", mode, clients), func(b *testing.B) {
				benchRuns(b, filepath.Join(b.TempDir(), "b.db"), mode, clients, benchRun)
			})
		}
	}
}

// BenchmarkRunSealed is BenchmarkRun with and without a key.
func BenchmarkRunSealed(b *testing.B) {
	for name, keys := range map[string]*seal.Ring{"plain": nil, "sealed": sealRing(b, false, 1)} {
		b.Run(name, func(b *testing.B) {
			s := openAt(b, filepath.Join(b.TempDir(), "b.db"), store.Options{Keys: keys})
			b.ReportAllocs()
			report := storetest.CPU(b)
			for b.Loop() {
				benchRun(s)
			}
			report()
		})
	}
}

func benchRuns(b *testing.B, dsn, mode string, clients int, work func(*harness)) {
	s := openAt(b, dsn, store.Options{Synchronous: mode})
	b.ReportAllocs()
	report := storetest.CPU(b)
	var wg sync.WaitGroup
	turns := make(chan struct{})
	for range clients {
		wg.Go(func() {
			for range turns {
				work(s)
			}
		})
	}
	for b.Loop() {
		turns <- struct{}{}
	}
	close(turns)
	wg.Wait()
	report()
}

func BenchmarkCreateRun(b *testing.B) {
	s := openAt(b, filepath.Join(b.TempDir(), "b.db"), store.Options{Synchronous: "normal"})
	b.ReportAllocs()
	report := storetest.CPU(b)
	for b.Loop() {
		s.create(newThreadRun())
	}
	report()
}

func BenchmarkAppendUpdate(b *testing.B) {
	s := openAt(b, filepath.Join(b.TempDir(), "b.db"), store.Options{Synchronous: "normal"})
	c := s.create(newThreadRun())
	b.ReportAllocs()
	report := storetest.CPU(b)
	for n := 0; b.Loop(); n++ {
		_, _, err := s.Events.Append(s.ctx, store.Append{RunID: c.Run.ID, Fence: c.Claimed.Fence,
			Events: []mapping.Event{update(`{"messages":[{"id":"2","type":"ai","content":"this is an answer of some length, as agents give them"}]}`)}})
		s.ok(err)
	}
	report()
}

func BenchmarkAppendTokens(b *testing.B) {
	s := openAt(b, filepath.Join(b.TempDir(), "b.db"), store.Options{Synchronous: "normal"})
	c := s.create(newThreadRun())
	events := make([]mapping.Event, 16)
	for i := range events {
		events[i] = token(`[{"type":"AIMessageChunk","content":"tok"},{}]`)
	}
	b.ReportAllocs()
	report := storetest.CPU(b)
	for b.Loop() {
		_, _, err := s.Events.Append(s.ctx, store.Append{RunID: c.Run.ID, Fence: c.Claimed.Fence, Relaxed: true, Events: events})
		s.ok(err)
	}
	report()
}

func BenchmarkEvents(b *testing.B) {
	s := openAt(b, filepath.Join(b.TempDir(), "b.db"), store.Options{Synchronous: "normal"})
	c := s.create(newThreadRun())
	s.append(c, update(`{"a":1}`), update(`{"a":2}`), update(`{"a":3}`))
	s.end(c, mapping.RunSuccess)
	b.ReportAllocs()
	report := storetest.CPU(b)
	for b.Loop() {
		if _, err := s.Events.List(s.ctx, c.Run.ThreadID, c.Run.ID, 0, 0); err != nil {
			b.Fatal(err)
		}
	}
	report()
}
