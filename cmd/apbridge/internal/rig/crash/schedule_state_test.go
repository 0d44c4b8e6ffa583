package crash

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// momentary holds the messages of a state and its checkpoint.
type momentary struct {
	Values     struct{ Messages []rig.Utterance }
	Checkpoint struct {
		ID string `json:"checkpoint_id"`
	}
	Parent *struct {
		ID string `json:"checkpoint_id"`
	} `json:"parent_checkpoint"`
}

func (s *schedule) tell(r *rapid.T, path string, into any) {
	if err := json.Unmarshal(s.ask(r, fine, "GET", rig.CrashThread+path, "").Body, into); err != nil {
		r.Fatal(err)
	}
}

// compare reads the messages of the thread. It checks that those of each run and update are contiguous, that none
// appears twice, and that those of successful runs and updates are complete.
func (s *schedule) compare(r *rapid.T) {
	var now momentary
	s.tell(r, "/state", &now)
	left := s.sort(r, now.Values.Messages)
	var updates []string
	for _, m := range now.Values.Messages {
		if strings.HasPrefix(m.Content, "update") {
			updates = append(updates, m.Content)
		}
	}
	if s.forked { // what was done elsewhere is not there
		return
	}
	if !s.rolledBack() && !slices.Equal(updates, s.said) {
		r.Fatalf("updates %q, but the thread has %q", s.said, updates)
	}
	for _, k := range s.runs {
		outputs, ok := left[k.words]
		lost := !k.gone && k.status == "success" && (!ok || !s.shares && len(outputs) != 3)
		if lost || ok && k.gone && !k.deleted && !s.shares {
			r.Fatalf("%s is %s (deleted: %t) and has the outputs %q", k.words, k.status, k.gone, outputs)
		}
	}
}

// sort determines which run or update added which messages. For concurrent runs, only the number of messages is known.
func (s *schedule) sort(r *rapid.T, messages []rig.Utterance) map[string][]string {
	left, at, count := map[string][]string{}, "", map[string]int{}
	for _, m := range messages {
		switch {
		case m.Type == "human" && left[m.Content] != nil:
			r.Fatalf("%q is in %v twice", m.Content, messages)
		case m.Type == "human":
			at = m.Content
			left[at] = []string{}
		case strings.HasPrefix(m.Content, "Error: "): // why the run failed
		default:
			left[at] = append(left[at], m.Content)
			count[m.Content]++
		}
	}
	for words, outputs := range left {
		if !s.shares && !slices.Equal(outputs, []string{"one", "two", "three"}[:min(len(outputs), 3)]) {
			r.Fatalf("%q has the outputs %q in %v", words, outputs, messages)
		}
	}
	if count["one"] < count["two"] || count["two"] < count["three"] || count["one"] > len(left) {
		r.Fatalf("%v of %d runs and updates: %v", count, len(left), messages)
	}
	return left
}

// checkHistory checks that every checkpoint is valid, is the same on every route, and continues from its predecessor.
func (s *schedule) checkHistory(r *rapid.T) {
	var all []momentary
	s.tell(r, "/history?limit=1000", &all)
	at := map[string]momentary{}
	for _, c := range all {
		at[c.Checkpoint.ID] = c
	}
	for _, c := range all {
		s.sort(r, c.Values.Messages)
		var alone momentary
		s.tell(r, "/state/"+c.Checkpoint.ID, &alone)
		if diff := cmp.Diff(c, alone); diff != "" {
			r.Fatalf("checkpoint (-in the history +alone):\n%s", diff)
		}
		if c.Parent == nil || s.shares {
			continue
		}
		before, now := at[c.Parent.ID].Values.Messages, c.Values.Messages
		if len(before) > len(now) || !slices.Equal(before, now[:len(before)]) {
			r.Fatalf("checkpoint %s does not continue %s:\n%v\n%v", c.Checkpoint.ID, c.Parent.ID, before, now)
		}
	}
}

func (s *schedule) rolledBack() bool {
	return slices.ContainsFunc(s.runs, func(k *knownRun) bool { return k.gone })
}

// checkWork checks that the agent created at most one task for each run and executed no step twice.
func (s *schedule) checkWork(r *rapid.T) {
	creates, steps := s.work()
	if most := len(s.runs) + len(s.tasks); creates > most || steps > 3*creates {
		r.Fatalf("%d tasks and %d steps for %d runs", creates, steps, most)
	}
}
