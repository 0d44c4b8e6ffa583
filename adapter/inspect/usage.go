package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	lru "github.com/hashicorp/golang-lru/v2"
)

// usage is the number of tokens that an agent's models reported.
type usage struct {
	Input  int64 `json:"input_tokens"`
	Output int64 `json:"output_tokens"`
}

const (
	usageKept   = 4096 // runs
	usageEvents = 2000 // that are read of one run
	// usageBudget is the maximum time that one list spends on usage. The next request finds the rest.
	usageBudget = 150 * time.Millisecond
)

// totals are the sums over the events of an ended run, which no longer change. nil stands for an unknown number.
type totals struct {
	steps *int
	usage *usage
}

// totalsCache holds totals by the ids of runs. Safe for concurrent use.
type totalsCache = *lru.Cache[string, totals]

func newTotalsCache() totalsCache {
	c, err := lru.New[string, totals](usageKept)
	if err != nil {
		panic(err) // the size is below one
	}
	return c
}

// fillTotals adds the steps and the usage of ended runs, as far as they are found within usageBudget.
func (s *server) fillTotals(ctx context.Context, rows []runRow) {
	ctx, stop := context.WithTimeout(ctx, usageBudget)
	defer stop()
	for i := range rows {
		r := &rows[i]
		found, ok := s.totals.Get(r.RunID)
		if !ok && !r.Status.Active() && ctx.Err() == nil {
			if found, ok = s.readTotals(ctx, r.RunID); ok {
				s.totals.Add(r.RunID, found)
			}
		}
		r.Steps, r.Usage = found.steps, found.usage
	}
}

// readTotals sums up the events of a run. ok is false if ctx ended first.
func (s *server) readTotals(ctx context.Context, runID string) (found totals, ok bool) {
	count, steps, sum := 0, 0, tally{}
	for entry, err := range s.Service.RunEvents(ctx, adapter.RunRef{RunID: runID}, fromStart, nil) {
		if err != nil {
			return totals{}, ctx.Err() == nil // a pruned log has no totals
		}
		if count++; count > usageEvents {
			return totals{}, true
		}
		if isStep(&entry.Event) {
			steps++
		}
		sum.count(&entry.Event)
	}
	return totals{&steps, sum.total()}, ctx.Err() == nil
}

// isStep reports whether an event is a step for a person: a step of a task, or a node of a graph but not of the graphs
// within it. The bridge's own updates at the end of a run are none.
func isStep(ev *mapping.Event) bool {
	return ev.Kind == mapping.KindUpdate && len(ev.Head.NS) == 0 && (!ev.Head.Reduce || ev.Head.Step != nil)
}

// tally holds the usage of each message of a run: the sum over its pieces, or the number in the whole message at the
// end.
type tally map[string]*messageUsage

type messageUsage struct {
	pieces, whole usage
	full          bool
}

// usageMessage is a message that may report usage (AIMessage.usage_metadata of LangChain).
type usageMessage struct {
	ID    string `json:"id"`
	Usage *usage `json:"usage_metadata"`
}

func (t tally) count(ev *mapping.Event) {
	if !bytes.Contains(ev.Data, []byte(`"usage_metadata"`)) {
		return
	}
	switch ev.Kind {
	case mapping.KindDelta:
		var pair []json.RawMessage
		var m usageMessage
		if json.Unmarshal(ev.Data, &pair) == nil && len(pair) > 0 && json.Unmarshal(pair[0], &m) == nil && m.Usage != nil {
			t.piece(m)
		}
	case mapping.KindUpdate:
		var v any
		if json.Unmarshal(ev.Data, &v) == nil {
			t.search(v)
		}
	}
}

// search finds messages at any depth of an update.
func (t tally) search(v any) {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			t.search(one)
		}
	case map[string]any:
		if _, says := v["usage_metadata"].(map[string]any); says {
			var m usageMessage
			if b, err := json.Marshal(v); err == nil && json.Unmarshal(b, &m) == nil && m.Usage != nil {
				t.message(m)
			}
			return
		}
		for _, one := range v {
			t.search(one)
		}
	}
}

func (t tally) piece(m usageMessage) {
	s := t.entry(m.ID)
	s.pieces.Input += m.Usage.Input
	s.pieces.Output += m.Usage.Output
}

// message adds a whole message, which replaces its pieces. Messages without ids are added up, because they may be
// different ones.
func (t tally) message(m usageMessage) {
	if m.ID == "" {
		t.piece(m)
		return
	}
	s := t.entry(m.ID)
	s.whole, s.full = *m.Usage, true
}

// entry returns the usage of a message. The ids of its pieces may have a prefix.
func (t tally) entry(id string) *messageUsage {
	id = strings.TrimPrefix(id, "run-")
	if t[id] == nil {
		t[id] = &messageUsage{}
	}
	return t[id]
}

func (t tally) total() *usage {
	if len(t) == 0 {
		return nil
	}
	var sum usage
	for _, s := range t {
		one := s.pieces
		if s.full {
			one = s.whole
		}
		sum.Input += one.Input
		sum.Output += one.Output
	}
	return &sum
}
