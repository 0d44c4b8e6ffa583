package protocol

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

var scripts = map[string]func() *world{
	"two-steps": func() *world { return newWorld().play(runOf(1, "legacy"), twoSteps()...) },
	"question":  func() *world { return newWorld().play(runOf(1, "legacy"), question()...) },
	"failure":   func() *world { return newWorld().play(runOf(1, "legacy"), failure()...) },
	"graph":     func() *world { return newWorld().play(runOf(1, "graph"), graphRun()...) },
	"retried":   func() *world { return newWorld().play(runOf(1, "graph"), retried()...) },
	"updated":   func() *world { return newWorld().play(mapping.Run{}, updated()) },
	"forked": func() *world {
		point := func(id, parent, step int) mapping.Event {
			return stateEvent("", &mapping.Checkpoint{ID: uuid(id), Parent: uuid(parent), Step: step, Source: "loop"}, `{}`)
		}
		return newWorld().play(runOf(1, "graph"), started(), point(301, 300, 0), point(302, 301, 1), succeeded()).
			play(runOf(2, "graph"), started(), point(303, 301, 0), point(304, 303, 1), succeeded())
	},
	"answered": func() *world {
		run := runOf(2, "legacy")
		run.Options = mapping.RunOptions{Resuming: true, Resume: raw(`{"q1":"yes"}`), Asked: questions}
		return newWorld().play(run, started(), succeeded())
	},
	"answered-barely": func() *world { // as after a command.resume without ids, which answers all questions of the run
		run := runOf(2, "legacy")
		run.Options = mapping.RunOptions{Resuming: true, Resume: raw(`"yes"`), Asked: questions}
		return newWorld().play(run, started(), succeeded())
	},
	"state-behind-the-last-checkpoint": func() *world {
		return newWorld().play(runOf(1, "graph"), started(), stateEvent("", &mapping.Checkpoint{ID: uuid(301), Step: 0, Source: "loop"}, `{"a":1}`),
			stateEvent(`{"a":1}`, nil, `{"a":2}`), stateEvent(`{"a":2}`, nil, `{"a":2}`), succeeded())
	},
	"blocks": func() *world { // both of LangChain's forms of reasoning, a single message, and a block that is emitted as a whole
		thinks := `{"id":"a1","type":"ai","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"well"},{"type":"image","url":"https://x.example/a.png"},{"type":"reasoning","reasoning":"so","index":4}]}`
		alone := mapping.Event{Kind: mapping.KindUpdate, Data: raw(`{"messages":` + says(2, "done") + `}`), Head: mapping.Head{Node: "finish"}}
		return newWorld().play(runOf(1, "graph"), started(), step(1, "think", thinks), alone, succeeded())
	},
	"words-amid-a-call": func() *world { // the text waits until the call is complete
		return newWorld().play(runOf(1, "graph"), started(), says1("let me "), calls1(`{"id":"c1","name":"look","args":"{\"a\"","index":0}`),
			says1("look"), calls1(`{"args":":1}","index":0}`), says1(" there"), succeeded())
	},
	"words-around-a-call": func() *world { // a complete call is not changed once text has followed it
		call := func(args string) mapping.Event {
			return piece("m1", "plan:t1", `"content":"","tool_call_chunks":[{"id":"c1","name":"look","args":"`+args+`","index":1}]`)
		}
		return newWorld().play(runOf(1, "graph"), started(), piece("m1", "plan:t1", `"content":"let me "`), call("{}"),
			piece("m1", "plan:t1", `"content":"look"`), call("late"), piece("m1", "plan:t1", `"content":" there"`), succeeded())
	},
	"schema": func() *world {
		asks := []mapping.Interrupt{{ID: "q3", Value: raw(`"How many?"`), Schema: raw(`{"type":"object","properties":{"run_id":{"type":"integer"}}}`)}}
		return newWorld().play(runOf(1, "graph"), started(), endedAs(mapping.Outcome{Status: mapping.RunInterrupted, Interrupts: asks}))
	},
	"never-begun": func() *world {
		return newWorld().play(runOf(1, "graph"), endedAs(mapping.Outcome{Status: mapping.RunInterrupted, Cancelled: true}))
	},
}

// told returns all current events for a reader with a filter, one per line.
func told(t *testing.T, w *world, f filter, spelling Spelling) []byte {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var b bytes.Buffer
	begun := false
	idle := func() { // called first at the beginning, then when everything has been read
		if begun {
			stop()
		}
		begun = true
	}
	err := w.server().follow(ctx, uuid(1), f.since, idle, func(ev *event, at position) error {
		if !f.wants(ev, at) {
			return nil
		}
		line := ev.encode(at, spelling)
		if !rawjson.Valid(line) {
			t.Errorf("not JSON: %s", line)
		}
		b.Write(append(line, '\n'))
		return nil
	})
	if err != context.Canceled {
		t.Fatal(err)
	}
	return b.Bytes()
}

func all() filter { return filter{channels: channels, depth: -1} }

// The events of each script match its golden file in both spellings.
func TestGolden(t *testing.T) {
	t.Parallel()
	for name, script := range scripts {
		for spelling, suffix := range map[Spelling]string{Snake: ".snake", Camel: ".camel"} {
			t.Run(name+suffix, func(t *testing.T) {
				t.Parallel()
				file := filepath.Join("testdata", "golden", name+suffix+".jsonl")
				got := told(t, script(), all(), spelling)
				if *update {
					if err := os.WriteFile(file, got, 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(string(want), string(got)); d != "" {
					t.Error(d)
				}
			})
		}
	}
}

// A reader with a filter or a position receives a subset of all events with the same ids.
func TestFilteredEventsAreSomeOfAll(t *testing.T) {
	t.Parallel()
	for name, script := range scripts {
		lines := bytes.SplitAfter(told(t, script(), all(), Snake), []byte("\n"))
		for _, channel := range channels {
			f := all()
			f.channels = []string{channel}
			rest := lines
			for _, line := range bytes.SplitAfter(told(t, script(), f, Snake), []byte("\n")) {
				i := 0
				for i < len(rest) && !bytes.Equal(rest[i], line) {
					i++
				}
				if i == len(rest) {
					t.Fatalf("%s, %s: %s is not among all events", name, channel, line)
				}
				rest = rest[i:]
			}
		}
		if len(lines) < 3 {
			continue
		}
		p, err := parse(bytes.TrimSpace(lines[1]), 0)
		if err != nil {
			t.Fatal(err)
		}
		late := all()
		late.since, _ = whole(p.get("seq"))
		if d := cmp.Diff(string(bytes.Join(lines[2:], nil)), string(told(t, script(), late, Snake))); d != "" {
			t.Errorf("%s since the second event: %s", name, d)
		}
	}
}
