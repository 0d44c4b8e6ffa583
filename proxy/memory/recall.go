package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"unicode"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/store/item"
)

// remembered limits the number of items for each entry of memory.namespaces.
const remembered = 100

// Recalled holds the items of the long-term store for a run's agent: the newest first or, with memory.max_items, those
// that match the run's input best.
type Recalled struct {
	Items []Item
	Cut   bool // there were more, or some exceeded memory.max_bytes
}

// Item is an item of the long-term store as an agent receives it.
type Item struct {
	Namespace []string        `json:"namespace"`
	Key       string          `json:"key"`
	Value     json.RawMessage `json:"value"`
}

// line returns the item as one line of a prompt, regardless of its content.
func (r Item) line() string {
	return visible(strings.Join(r.Namespace, "/")+"/"+r.Key) + ": " + oneLine.Replace(string(r.Value))
}

// visible escapes line breaks and all other control characters.
func visible(name string) string {
	var out strings.Builder
	for _, r := range name {
		if unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp) {
			out.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// oneLine replaces line breaks in JSON. Between tokens they have no meaning, and in strings they can be escaped.
var oneLine = strings.NewReplacer("\r", " ", "\n", " ", "\u0085", `\u0085`, "\u2028", `\u2028`, "\u2029", `\u2029`)

// Lines returns the items as lines of a prompt.
func (r Recalled) Lines() []string {
	lines := make([]string, len(r.Items))
	for i, it := range r.Items {
		lines[i] = it.line()
	}
	return lines
}

// Names returns the names of the items.
func (r Recalled) Names() (list []mapping.ItemName) {
	for _, it := range r.Items {
		list = append(list, mapping.ItemName{Namespace: it.Namespace, Key: it.Key})
	}
	return list
}

// Recall reads the items of the scope. words is the text of the run's request. If it is empty, memory.max_items selects
// the newest items.
func (m *Memory) Recall(ctx context.Context, s Scope, words string) (Recalled, error) {
	cfg, who := s.Config, m.principal(s)
	if len(who.Namespaces) == 0 {
		return Recalled{}, nil
	}
	q := item.Query{SortBy: mapping.SortByUpdated, Limit: remembered*len(who.Namespaces) + 1}
	if cfg.MaxItems > 0 {
		q.Limit = cfg.MaxItems
	}
	if cfg.MaxItems > 0 && strings.ContainsFunc(words, inWords) {
		q.Query, q.SortBy = words, ""
	}
	return m.recall(mapping.WithPrincipal(ctx, who), q, cfg)
}

func inWords(r rune) bool { return unicode.In(r, unicode.L, unicode.N) }

// recall returns the results of a query that fit into the budget, up to the first that does not. An item that exceeds
// the whole budget is skipped.
func (m *Memory) recall(ctx context.Context, q item.Query, cfg config.Memory) (got Recalled, err error) {
	budget := cmp.Or(int(cfg.MaxBytes), rule.PromptBudget)
	room := budget
	for it, err := range m.items.Search(ctx, q) {
		if err != nil {
			return got, err
		}
		one := Item{it.Namespace, it.Key, it.Value}
		size := len(one.line()) + 1
		switch {
		case size > budget:
			got.Cut = true
			continue
		case size > room || cfg.MaxItems == 0 && len(got.Items) == q.Limit-1:
			got.Cut = true
			return got, nil
		}
		got.Items, room = append(got.Items, one), room-size
	}
	return got, nil
}
