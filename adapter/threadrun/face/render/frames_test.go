package render

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
)

// namesOf are the names of the frames that a reader with some modes gets of events.
func namesOf(run mapping.Run, modes []string, events ...mapping.Event) (names []string) {
	v := NewView(&run, ModesOf(modes), adapter.Cursor{K: -1})
	fold, _ := state.NewFold(nil)
	for i, ev := range events {
		ev.Seq = int64(i + 1)
		v.Frames(&state.Entry{Event: ev, Before: fold, After: fold}, func(frame []byte) {
			name, _, _ := strings.Cut(strings.TrimPrefix(string(frame), "event: "), "\n")
			names = append(names, name)
		})
	}
	return names
}

// A frame whose name is no mode of ours comes to every reader, as it does from the agent's server; one of a mode comes to
// those who asked for that.
func TestFramesOfOtherNamesAreHandedOn(t *testing.T) {
	t.Parallel()
	frame := func(name string, ns ...string) mapping.Event {
		return mapping.Event{Kind: mapping.KindChunk, Data: json.RawMessage(`{"a":1}`), Head: mapping.Head{Name: name, NS: ns}}
	}
	events := []mapping.Event{frame("a2a"), frame("a2a", "sub:1"), frame("custom:score"), frame("debug"), frame("messages/partial"), frame("messages")}
	for modes, want := range map[string][]string{
		"values":          {"a2a"},
		"custom":          {"a2a", "custom:score"},
		"messages":        {"a2a"},
		"debug,messages":  {"a2a", "debug"},
		"values (nested)": {"a2a", "a2a|sub:1"},
	} {
		list, nested := strings.CutSuffix(modes, " (nested)")
		run := mapping.Run{Options: mapping.RunOptions{Subgraphs: nested}}
		if got := namesOf(run, strings.Split(list, ","), events...); !slices.Equal(got, want) {
			t.Errorf("%s: %s, want %s", modes, got, want)
		}
	}
}
