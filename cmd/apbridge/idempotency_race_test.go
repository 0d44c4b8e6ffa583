package main

import (
	"strings"
	"sync"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/proxy/store/storetest"
)

// atOnce sends a request to each bridge in turn, all at the same time, under one
// key, and returns the ids that were made.
func atOnce(t *testing.T, bridges []*bridge, path, body, id string) map[string]bool {
	t.Helper()
	var all sync.WaitGroup
	var mu sync.Mutex
	made := map[string]bool{}
	for i := range 8 {
		all.Go(func() {
			a, err := bridges[i%len(bridges)].try(t.Context(), "POST", path, body, "Idempotency-Key", "one for "+path)
			if err != nil || a.status/100 != 2 {
				t.Errorf("answered %d: %.300s %v", a.status, a.body, err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			made[a.text(id)] = true
		})
	}
	all.Wait()
	return made
}

// TestOneAnswerAtOnce: of the same answers at once one is given, and the others are
// told of it, although the question is gone when they come to it. It takes several
// rounds to come between every two steps of the others.
func TestOneAnswerAtOnce(t *testing.T) {
	t.Parallel()
	b := inFront(t, askingAgent(), lockstep)
	for range 20 {
		at := aQuestion(b)
		if made := atOnce(t, []*bridge{b}, at+"/runs", `{"assistant_id":"agent","command":{"resume":"this"}}`, "run_id"); len(made) != 1 {
			t.Fatalf("one key made %v", made)
		}
	}
	for range 5 {
		topic := aTopicThatAsks(b)
		made := atOnce(t, []*bridge{b}, topic+"/interactions", `{"input":"y"}`, "interaction_id")
		if tasks := b.get(topic + "/tasks").ok().list("tasks"); len(made) != 1 || len(tasks) != 1 {
			t.Fatalf("one key made %v, of %d tasks on %s", made, len(tasks), strings.TrimPrefix(topic, "/ap/v2/topics/"))
		}
	}
}

// The same over two processes, whose sessions of the task know nothing of each other.
func TestOneAnswerAtOnceOverProcesses(t *testing.T) {
	t.Parallel()
	cfg := configFor(t, map[string]config.Agent{"agent": agentAt(adaptertest.Serve(t, askingAgent()).URL, lockstep)})
	cfg.Database = storetest.Schema(t)
	one, two := startBridge(t, cfg), startBridge(t, cfg)
	for range 20 {
		topic := aTopicThatAsks(one)
		made := atOnce(t, []*bridge{one, two}, topic+"/interactions", `{"input":"y"}`, "interaction_id")
		if tasks := two.get(topic + "/tasks").ok().list("tasks"); len(made) != 1 || len(tasks) != 1 {
			t.Fatalf("one key made %v, of %d tasks", made, len(tasks))
		}
		at := aQuestion(two)
		if made := atOnce(t, []*bridge{one, two}, at+"/runs", `{"assistant_id":"agent","command":{"resume":"this"}}`, "run_id"); len(made) != 1 {
			t.Fatalf("one key made %v", made)
		}
	}
}
