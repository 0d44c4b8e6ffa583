package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"
	"unicode"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/store/item"
)

// remembered bounds the items that are told for each entry of memory.namespaces.
const remembered = 100

// Recalled is what an agent is told of the long-term store for a run, the newest first, or with memory.recall what
// matches its words best.
type Recalled struct {
	Items []RecalledItem
	Cut   bool // there were more, or some that did not fit into memory.budget
}

// RecalledItem is an item of the long-term store as an agent is told it.
type RecalledItem struct {
	Namespace []string        `json:"namespace"`
	Key       string          `json:"key"`
	Value     json.RawMessage `json:"value"`
}

// line is the item as a prompt has it.
func (r RecalledItem) line() string {
	return strings.Join(r.Namespace, "/") + "/" + r.Key + ": " + string(r.Value)
}

// Lines returns what was recalled as a prompt has it.
func (r Recalled) Lines() []string {
	lines := make([]string, len(r.Items))
	for i, it := range r.Items {
		lines[i] = it.line()
	}
	return lines
}

// names are those of the items.
func (r Recalled) names() (list []mapping.ItemName) {
	for _, it := range r.Items {
		list = append(list, mapping.ItemName{Namespace: it.Namespace, Key: it.Key})
	}
	return list
}

// noteTold has the log say with the run's first link which items the agent was told of.
func (x *execution) noteTold(ev *mapping.Event) {
	if ev.Kind == mapping.KindLinked {
		ev.Head.Told, x.told = x.told, nil
	}
}

// Recall reads what the agent's memory.namespaces name for a run, which may still have to be made. The metadata is that
// of its thread; words are those of its request, without which memory.recall takes the newest.
func (e *Engine) Recall(ctx context.Context, a *Agent, r *mapping.Run, metadata json.RawMessage, words string) (Recalled, error) {
	cfg, who := a.Config.Memory, e.memoryOf(a, r, metadata)
	if len(who.Namespaces) == 0 {
		return Recalled{}, nil
	}
	q := item.Query{SortBy: mapping.SortByUpdated, Limit: remembered*len(who.Namespaces) + 1}
	if cfg.Recall > 0 {
		q.Limit = cfg.Recall
	}
	if cfg.Recall > 0 && strings.ContainsFunc(words, inWords) {
		q.Query, q.SortBy = words, ""
	}
	return e.recall(mapping.WithPrincipal(ctx, who), q, cfg)
}

func inWords(r rune) bool { return unicode.In(r, unicode.L, unicode.N) }

// recall takes what fits into the budget of what a query finds, up to the first that does not. One that no budget would
// have room for does not keep those after it from being told.
func (e *Engine) recall(ctx context.Context, q item.Query, cfg config.Memory) (got Recalled, err error) {
	budget := cmp.Or(int(cfg.Budget), rule.PromptBudget)
	room := budget
	for it, err := range e.st.Items.Search(ctx, q) {
		if err != nil {
			return got, err
		}
		one := RecalledItem{it.Namespace, it.Key, it.Value}
		size := len(one.line()) + 1
		switch {
		case size > budget:
			got.Cut = true
			continue
		case size > room || cfg.Recall == 0 && len(got.Items) == q.Limit-1:
			got.Cut = true
			return got, nil
		}
		got.Items, room = append(got.Items, one), room-size
	}
	return got, nil
}

// memoryOf is the principal of an agent at the long-term store in a run: it reaches the namespaces of its memory, as
// far as the key that made the run does.
func (e *Engine) memoryOf(a *Agent, r *mapping.Run, metadata json.RawMessage) mapping.Principal {
	who := mapping.Principal{ID: r.Owner, Tenant: r.Tenant, Namespaces: [][]string{}, ReadOnly: !a.Config.Memory.Writes}
	if len(a.Config.Memory.Namespaces) == 0 {
		return who
	}
	maker, configurable := e.maker(r), rule.GivenConfigurable(r.Kwargs)
	for _, template := range a.Config.Memory.Namespaces {
		if ns, ok := rule.ExpandNamespace(template, metadata, configurable); ok {
			who.Namespaces = append(who.Namespaces, maker.Below(ns)...)
		}
	}
	return who
}

// maker is the key that made a run, as it is configured now. One that is not there any more reaches nothing; without
// keys no caller is confined.
func (e *Engine) maker(r *mapping.Run) mapping.Principal {
	callers := e.Config().Auth
	switch who, known := callers.Principal(r.Owner, r.Tenant, time.Now()); {
	case known:
		return mapping.Principal{Namespaces: who.Namespaces}
	case callers.On():
		return mapping.Principal{Namespaces: [][]string{}}
	}
	return mapping.Principal{}
}
