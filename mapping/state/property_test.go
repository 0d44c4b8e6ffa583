package state

import (
	"encoding/json"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rawjson/rawjsontest"
	"pgregory.net/rapid"
)

// states generates JSON objects like agents' states, with few names, so that consecutive states often share much.
func states() *rapid.Generator[json.RawMessage] {
	name := rapid.SampledFrom([]string{`"messages"`, `"files"`, `"a"`, `"b"`, `"\u0061"`, `"ü"`})
	return rapid.Custom(func(t *rapid.T) json.RawMessage { return rawjsontest.Object(t, name, 2) })
}

// A logged diff restores the exact bytes of its state on every fold with the same old state, and they equal the full
// state.
func TestDiffRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		live, err := NewFold(states().Draw(t, "first"))
		if err != nil {
			t.Fatal(err)
		}
		replayed := mustReplay(t, live.JSON())
		for range rapid.IntRange(1, 6).Draw(t, "changes") {
			full := states().Draw(t, "full")
			diff, next, err := live.DiffTo(full)
			if err != nil {
				t.Fatal(err)
			}
			if replayed, err = replayed.Apply(&mapping.Event{Kind: mapping.KindState, Data: diff}); err != nil {
				t.Fatalf("%s on %s: %v", diff, live.JSON(), err)
			}
			if string(replayed.JSON()) != string(next.JSON()) || replayed.Size() != len(next.JSON()) || next.Size() != len(next.JSON()) {
				t.Fatalf("%s on %s gives %s, want %s", diff, live.JSON(), replayed.JSON(), next.JSON())
			}
			if !rawjson.Equal(next.JSON(), full) || diff != nil && !json.Valid(diff) {
				t.Fatalf("%s to %s gives %s by %s", live.JSON(), full, next.JSON(), diff)
			}
			live = next
		}
	})
}

// Folding event by event equals folding from a snapshot in between.
func TestReduceFromSnapshot(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := mustReplay(t, raw(`{}`))
		for range rapid.IntRange(1, 8).Draw(t, "deltas") {
			before, text := f, string(f.JSON())
			delta := states().Draw(t, "delta")
			next, err := f.Reduce(delta)
			if err != nil {
				t.Fatal(err)
			}
			again, err := mustReplay(t, raw(text)).Reduce(delta)
			if err != nil || string(again.JSON()) != string(next.JSON()) || next.Size() != len(next.JSON()) {
				t.Fatalf("%s on %s: %s live, %s from a snapshot, %v", delta, text, next.JSON(), again.JSON(), err)
			}
			if rebuilt := (&Fold{fields: before.fields, size: before.size}).JSON(); string(rebuilt) != text {
				t.Fatalf("%s changed the previous fold from %s to %s", delta, text, rebuilt)
			}
			f = next
		}
	})
}

func mustReplay(t *rapid.T, state json.RawMessage) *Fold {
	f, err := NewFold(append(json.RawMessage(nil), state...))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Applying many events at once equals applying them one by one, and does not change the fold before them.
func TestApplyAll(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		first, err := NewFold(states().Draw(t, "first"))
		if err != nil {
			t.Fatal(err)
		}
		was, live := string(first.JSON()), first
		var events []mapping.Event
		for range rapid.IntRange(0, 8).Draw(t, "changes") {
			ev := mapping.Event{Kind: mapping.KindState}
			if rapid.IntRange(0, 3).Draw(t, "kind") == 0 {
				ev = mapping.Event{Kind: mapping.KindInput, Data: raw(`{"a":[1],"b":{"x":1,"y":2}}`)}
			} else if ev.Data, _, err = live.DiffTo(states().Draw(t, "full")); err != nil {
				t.Fatal(err)
			}
			if live, err = live.Apply(&ev); err != nil {
				t.Fatal(err)
			}
			events = append(events, ev)
		}
		before, err := NewFold(raw(was))
		if err != nil {
			t.Fatal(err)
		}
		got, err := before.ApplyAll(events)
		if err != nil || string(got.JSON()) != string(live.JSON()) || got.Size() != live.Size() {
			t.Fatalf("%s, %v, want %s", got.JSON(), err, live.JSON())
		}
		if again := before.edit(0).fold(nil); string(again.JSON()) != was {
			t.Fatalf("the previous fold became %s, it was %s", again.JSON(), was)
		}
	})
}

// The difference to a reduced fold equals the one to its text.
func TestDiffToReduced(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		live, err := NewFold(states().Draw(t, "first"))
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 6).Draw(t, "changes") {
			next, err := live.Reduce(states().Draw(t, "change"))
			if err != nil {
				t.Skip(err)
			}
			want, after, err := live.DiffTo(next.JSON())
			if err != nil {
				t.Fatal(err)
			}
			diff, got := live.DiffToReduced(next)
			if string(diff) != string(want) || string(got.JSON()) != string(after.JSON()) || got.Size() != after.Size() {
				t.Fatalf("%s to %s is %s by %s, want %s by %s", live.JSON(), next.JSON(), got.JSON(), diff, after.JSON(), want)
			}
			live = got
		}
	})
}
