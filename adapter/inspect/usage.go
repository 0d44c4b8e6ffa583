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

// usageCache holds the usage of ended runs, which no longer changes. nil means that the usage is unknown. Safe for
// concurrent use.
type usageCache = *lru.Cache[string, *usage]

func newUsageCache() usageCache {
	c, err := lru.New[string, *usage](usageKept)
	if err != nil {
		panic(err) // the size is below one
	}
	return c
}

// fillUsage adds the usage of ended runs, as far as it can be found within usageBudget.
func (s *server) fillUsage(ctx context.Context, rows []runRow) {
	ctx, stop := context.WithTimeout(ctx, usageBudget)
	defer stop()
	for i := range rows {
		r := &rows[i]
		found, ok := s.usages.Get(r.RunID)
		if !ok && !r.Status.Active() && ctx.Err() == nil {
			if found, ok = s.readUsage(ctx, r.RunID); ok {
				s.usages.Add(r.RunID, found)
			}
		}
		r.Usage = found
	}
}

// readUsage adds up the usage in the messages of a run. ok is false if ctx ended first.
func (s *server) readUsage(ctx context.Context, runID string) (found *usage, ok bool) {
	count, sum := 0, tally{}
	for entry, err := range s.Service.RunEvents(ctx, adapter.RunRef{RunID: runID}, fromStart, nil) {
		if err != nil {
			return nil, ctx.Err() == nil // a pruned log has no usage
		}
		if count++; count > usageEvents {
			return nil, true
		}
		sum.count(&entry.Event)
	}
	return sum.total(), ctx.Err() == nil
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
