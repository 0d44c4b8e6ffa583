package protocol

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	gocmp "github.com/google/go-cmp/cmp"
)

// To replace a user's message or regenerate an answer, clients start a run from the parent of the message. SDKs up to
// 1.11 use the newest parent for all messages in the values. Newer ones keep the first parent of each message.
func TestTheParentOfAMessageIsTheBeginningOfItsTurn(t *testing.T) {
	t.Parallel()
	const first, second = 10, 20
	state := func(id, parent int, source string, next []string, messages ...string) mapping.Event {
		list := make([]string, len(messages))
		for i, m := range messages {
			list[i] = `{"id":"` + m + `","type":"ai","content":""}`
		}
		return stateEvent("", &mapping.Checkpoint{ID: uuid(id), Parent: uuid(parent), Source: source, Next: next}, `{"messages":[`+strings.Join(list, ",")+`]}`)
	}
	start, node := []string{"__start__"}, []string{"node"}
	turn := func(from, n int, before ...string) []mapping.Event {
		h, a := "h"+strconv.Itoa(n), "a"+strconv.Itoa(n)
		return []mapping.Event{
			started(), state(from, from-1, "input", start, before...), state(from+1, from, "loop", node, append(before, h)...),
			state(from+2, from+1, "loop", nil, append(before, h, a)...), succeeded(),
		}
	}
	one := func() *world { return newWorld().play(runOf(1, "graph"), turn(first, 1)...) }
	two := func() *world { return one().play(runOf(2, "graph"), turn(second, 2, "h1", "a1")...) }
	steps := func(n, from, base int) []mapping.Event { // for a task/step agent, whose input is in the state at once
		events := []mapping.Event{started(), humanInput(), step(1, "step", says(2*n, "well")), step(2, "step", says(2*n+1, "done")), succeeded()}
		events[1].Data = raw(`{"messages":[{"id":"h` + strconv.Itoa(n) + `","type":"human","content":"hi"}]}`)
		for i := range 3 {
			events[i+1].Head.Checkpoint.ID, events[i+1].Head.Checkpoint.Parent = uuid(from+i), uuid(from+i-1)
		}
		events[1].Head.Checkpoint.Parent = uuid(base)
		return events
	}
	for name, tt := range map[string]struct {
		world       *world
		last, first string
	}{
		"a graph's turn":       {one(), "h1:10 a1:10", "h1:10 a1:10"},
		"a graph's next turn":  {two(), "h1:20 a1:20 h2:20 a2:20", "h1:10 a1:10 h2:20 a2:20"},
		"after an answer":      {one().play(runOf(2, "graph"), started(), state(20, 11, "loop", nil, "h1", "q1", "a9"), succeeded()), "h1:10 a1:10 q1:10 a9:10", "h1:10 a1:10 q1:10 a9:10"},
		"made again":           {two().play(runOf(3, "graph"), started(), state(30, 20, "fork", start, "h1", "a1"), state(31, 30, "loop", node, "h1", "a1", "h2"), state(32, 31, "loop", nil, "h1", "a1", "h2", "a3"), succeeded()), "h1:30 a1:30 h2:30 a2:20 a3:30", "h1:10 a1:10 h2:20 a2:20 a3:30"},
		"after an update":      {one().play(mapping.Run{}, state(20, 12, "update", node, "h1", "a1", "h2")).play(runOf(2, "graph"), started(), state(21, 20, "loop", nil, "h1", "a1", "h2", "a2"), succeeded()), "h1:20 a1:20 h2:20 a2:20", "h1:10 a1:10 h2:12 a2:20"},
		"a task/step agent's":  {newWorld().play(runOf(1, "legacy"), steps(1, first, 9)...), "h1:9 a2:9 a3:9", "h1:9 a2:9 a3:9"},
		"its next turn":        {newWorld().play(runOf(1, "legacy"), steps(1, first, 9)...).play(runOf(2, "legacy"), steps(2, second, 12)...), "h1:12 a2:12 a3:12 h2:12 a4:12 a5:12", "h1:9 a2:9 a3:9 h2:12 a4:12 a5:12"},
		"its turn, made again": {newWorld().play(runOf(1, "legacy"), steps(1, first, 9)...).play(runOf(2, "legacy"), started(), state(20, first, "loop", nil, "h1", "a8"), succeeded()), "h1:9 a2:9 a3:9 a8:9", "h1:9 a2:9 a3:9 a8:9"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			last, first := parents(t, tt.world)
			if d := gocmp.Diff([]string{tt.last, tt.first}, []string{last, first}); d != "" {
				t.Error(d)
			}
		})
	}
}

// parents returns the parents that SDKs assume for messages: the last one reported and the first one, in this order.
func parents(t *testing.T, w *world) (last, first string) {
	t.Helper()
	var ids []string
	lasts, firsts := map[string]string{}, map[string]string{}
	parent := ""
	for line := range bytes.Lines(told(t, w, all(), Snake)) {
		data := member(member(line, "params"), "data")
		switch rawjson.GetText(line, "method") {
		case channelCheckpoints:
			parent = rawjson.GetText(data, "parent_id")
		case channelValues:
			for _, m := range messagesOf(data) {
				id := rawjson.GetText(m, "id")
				if !slices.Contains(ids, id) {
					ids = append(ids, id)
				}
				lasts[id], firsts[id] = cmp.Or(parent, lasts[id]), cmp.Or(firsts[id], parent)
			}
			parent = ""
		}
	}
	list := func(of map[string]string) string {
		parts := make([]string, len(ids))
		for i, id := range ids {
			parts[i] = id + ":" + strings.TrimLeft(strings.TrimPrefix(of[id], uuid(0)[:24]), "0")
		}
		return strings.Join(parts, " ")
	}
	return list(lasts), list(firsts)
}

// Clients treat values with a lower step as outdated and keep messages that are missing in them. After a fork with
// fewer steps than its branch, they would show both answers.
func TestStepsOfCheckpointsRise(t *testing.T) {
	t.Parallel()
	point := func(id, parent, step int) mapping.Event {
		return stateEvent("", &mapping.Checkpoint{ID: uuid(id), Parent: uuid(parent), Step: step, Source: "loop"}, `{}`)
	}
	w := newWorld().play(runOf(1, "graph"), started(), point(301, 300, 0), point(302, 301, 1), point(303, 302, 2), point(304, 303, 7), succeeded()).
		play(runOf(2, "graph"), started(), point(305, 301, 1), point(306, 305, 0), succeeded())
	var steps []string
	for line := range bytes.Lines(told(t, w, filter{channels: []string{channelCheckpoints}, depth: -1}, Snake)) {
		steps = append(steps, string(member(member(member(line, "params"), "data"), "step")))
	}
	if d := gocmp.Diff([]string{"0", "1", "2", "7", "8", "9"}, steps); d != "" {
		t.Error(d)
	}
}
