package rule

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/apbridge/apbridge/mapping"
)

// RunTotals sums up the events of one run, in order. The zero value is ready for use. Not safe for concurrent use.
//
// Tokens are LangChain's usage_metadata (UsageMetadata) of messages: the sum over the pieces of a message, or the number
// in the whole message at the end. Costs are AutoGPT's task_cumulative_cost and task_total_cost in a step's
// additional_output. Both are US dollars since the start of the task, which may have earlier runs.
type RunTotals struct {
	steps    int
	messages map[string]*messageUsage
	cost     float64 // the newest report
	before   float64 // of earlier tasks, if the agent began a new one
}

type messageUsage struct {
	pieces, whole mapping.Usage
	full          bool
}

// maxUsageBytes bounds the data of an event that is searched for usage.
const maxUsageBytes = 1 << 20

// Add adds an event.
func (t *RunTotals) Add(ev *mapping.Event) {
	if IsStep(ev) {
		t.steps++
	}
	if ev.Head.Step != nil {
		_, additional := StepSaid(ev)
		t.addCost(additional)
	}
	if len(ev.Data) > maxUsageBytes || !bytes.Contains(ev.Data, []byte(`"usage_metadata"`)) {
		return
	}
	switch ev.Kind {
	case mapping.KindDelta:
		var pair []json.RawMessage
		var m usageMessage
		if json.Unmarshal(ev.Data, &pair) == nil && len(pair) > 0 && json.Unmarshal(pair[0], &m) == nil && m.Usage != nil {
			t.addPiece(m)
		}
	case mapping.KindUpdate:
		var v any
		if json.Unmarshal(ev.Data, &v) == nil {
			t.search(v)
		}
	}
}

// Total returns the sums so far. The cost includes earlier runs of the task.
func (t *RunTotals) Total() mapping.RunTotals {
	sum := mapping.RunTotals{Steps: t.steps, Usage: mapping.Usage{Cost: t.before + t.cost}}
	for _, m := range t.messages {
		one := m.pieces
		if m.full {
			one = m.whole
		}
		sum.Usage = sum.Plus(one)
	}
	return sum
}

// IsStep reports whether an event is a step for a person: a step of a task, or a node of a graph but not of the graphs
// within it. The bridge's own updates at the end of a run are none.
func IsStep(ev *mapping.Event) bool {
	return ev.Kind == mapping.KindUpdate && len(ev.Head.NS) == 0 && (!ev.Head.Reduce || ev.Head.Step != nil)
}

// EventUsage returns the tokens and the cost that one update reports. The cost is that of the task so far.
func EventUsage(ev *mapping.Event) mapping.Usage {
	if ev.Kind != mapping.KindUpdate {
		return mapping.Usage{}
	}
	var t RunTotals
	t.Add(ev)
	return t.Total().Usage
}

// usageMessage is a message that may report usage.
type usageMessage struct {
	ID    string `json:"id"`
	Usage *struct {
		Input  int64 `json:"input_tokens"`
		Output int64 `json:"output_tokens"`
	} `json:"usage_metadata"`
}

func (m usageMessage) usage() mapping.Usage {
	return mapping.Usage{Input: max(0, m.Usage.Input), Output: max(0, m.Usage.Output)}
}

// search finds messages at any depth of an update.
func (t *RunTotals) search(v any) {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			t.search(one)
		}
	case map[string]any:
		if _, says := v["usage_metadata"].(map[string]any); says {
			var m usageMessage
			if b, err := json.Marshal(v); err == nil && json.Unmarshal(b, &m) == nil && m.Usage != nil {
				t.addMessage(m)
			}
			return
		}
		for _, one := range v {
			t.search(one)
		}
	}
}

func (t *RunTotals) addPiece(m usageMessage) {
	s := t.entry(m.ID)
	s.pieces = s.pieces.Plus(m.usage())
}

// addMessage adds a whole message, which replaces its pieces. Messages without ids are added up, because they may be
// different ones.
func (t *RunTotals) addMessage(m usageMessage) {
	if m.ID == "" {
		t.addPiece(m)
		return
	}
	s := t.entry(m.ID)
	s.whole, s.full = m.usage(), true
}

// entry returns the usage of a message. The ids of its pieces may have a prefix.
func (t *RunTotals) entry(id string) *messageUsage {
	id = strings.TrimPrefix(id, "run-")
	if t.messages == nil {
		t.messages = map[string]*messageUsage{}
	}
	if t.messages[id] == nil {
		t.messages[id] = &messageUsage{}
	}
	return t.messages[id]
}

func (t *RunTotals) addCost(additional json.RawMessage) {
	if len(additional) > maxUsageBytes || !bytes.Contains(additional, []byte(`_cost"`)) {
		return
	}
	var said struct {
		Cumulative *float64 `json:"task_cumulative_cost"`
		Total      *float64 `json:"task_total_cost"`
	}
	if json.Unmarshal(additional, &said) != nil {
		return
	}
	for _, cost := range []*float64{said.Cumulative, said.Total} {
		if cost == nil || *cost < 0 {
			continue
		}
		if *cost < t.cost {
			t.before += t.cost
		}
		t.cost = *cost
	}
}
