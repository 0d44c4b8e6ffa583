package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"strings"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
	lru "github.com/hashicorp/golang-lru/v2"
)

// usage is what the models of an agent said that a run has used, in tokens.
type usage struct {
	Input  int64 `json:"input_tokens"`
	Output int64 `json:"output_tokens"`
}

const (
	// usageKept is of how many runs the usage is kept in memory.
	usageKept = 4096
	// usageEvents bounds what is read of one run for it.
	usageEvents = 2000
	// usageBudget bounds what one list spends on it. What is left is found by the next.
	usageBudget = 150 * time.Millisecond
)

// usages knows what ended runs have used, which does not change any more. Safe for concurrent use.
type usages struct {
	runs  eventReader
	known *lru.Cache[string, *usage] // nil: nothing was said
}

// eventReader is part of adapter.Runs.
type eventReader interface {
	RunEvents(ctx context.Context, ref adapter.RunRef, after adapter.Cursor, idle func()) iter.Seq2[*state.Entry, error]
}

func newUsages(runs eventReader) *usages {
	known, err := lru.New[string, *usage](usageKept)
	if err != nil {
		panic(err) // of a size below one
	}
	return &usages{runs, known}
}

// fill says of each ended run of a list what it has used, as far as that is found in time.
func (u *usages) fill(ctx context.Context, rows []runRow) {
	ctx, stop := context.WithTimeout(ctx, usageBudget)
	defer stop()
	for i := range rows {
		r := &rows[i]
		found, ok := u.known.Get(r.RunID)
		if !ok && !r.Status.Active() && ctx.Err() == nil {
			if found, ok = u.read(ctx, r.RunID); ok {
				u.known.Add(r.RunID, found)
			}
		}
		r.Usage = found
	}
}

// read sums up what the messages of a run say. ok is false where its log could not be read to the end.
func (u *usages) read(ctx context.Context, runID string) (found *usage, ok bool) {
	count, sum := 0, tally{}
	for entry, err := range u.runs.RunEvents(ctx, adapter.RunRef{RunID: runID}, adapter.Cursor{Start: true, K: -1}, nil) {
		if err != nil {
			return nil, ctx.Err() == nil // a log that is not kept any more says nothing
		}
		if count++; count > usageEvents {
			return nil, true
		}
		sum.count(&entry.Event)
	}
	return sum.total(), ctx.Err() == nil
}

// tally is what each message of a run says of its usage: in its pieces, which are added, or at last as a whole.
type tally map[string]*said

type said struct {
	pieces, whole usage
	full          bool
}

// usageMessage is a message that may say it (LangChain's AIMessage.usage_metadata).
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

// search finds the messages in an update, wherever in it they are.
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

// piece takes a part of a message.
func (t tally) piece(m usageMessage) {
	s := t.entry(m.ID)
	s.pieces.Input += m.Usage.Input
	s.pieces.Output += m.Usage.Output
}

// message takes a whole message, in place of what was said of it before. Of messages without ids none is known to be
// another.
func (t tally) message(m usageMessage) {
	if m.ID == "" {
		t.piece(m)
		return
	}
	s := t.entry(m.ID)
	s.whole, s.full = *m.Usage, true
}

// entry is what a message said; its pieces may have the id with a prefix.
func (t tally) entry(id string) *said {
	id = strings.TrimPrefix(id, "run-")
	if t[id] == nil {
		t[id] = &said{}
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
