package inspect

import (
	"context"
	"slices"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// treeLine is a line of history, the oldest checkpoint first.
type treeLine []treeNode

// treeNode is a checkpoint of a line, with the other lines that begin after it.
type treeNode struct {
	ID        string     `json:"id"`
	Parent    string     `json:"parent,omitempty"`
	Step      int        `json:"step"`
	Source    string     `json:"source"`
	Next      []string   `json:"next,omitempty"`
	RunID     string     `json:"run_id,omitempty"`
	Head      bool       `json:"head,omitempty"`
	CreatedAt time.Time  `json:"created_at"`
	Branches  []treeLine `json:"branches,omitempty"`
}

// history reads the checkpoints of threads.
type history struct{ past checkpointLister }

// checkpointLister is part of adapter.States.
type checkpointLister interface {
	ListCheckpoints(ctx context.Context, threadID string, q adapter.HistoryQuery) ([]mapping.Checkpoint, error)
}

// tree is the checkpoints of a thread as lines, of the newest ones, or of those before one; older is the one before
// which there are more.
func (h *history) tree(ctx context.Context, t mapping.Thread, before string) (lines []treeLine, older string, err error) {
	list, err := h.past.ListCheckpoints(ctx, t.ID, adapter.HistoryQuery{Before: before, Limit: checkpointsShown + 1})
	if err != nil {
		return nil, "", err
	}
	if len(list) > checkpointsShown {
		list = list[:checkpointsShown]
		older = list[len(list)-1].ID
	}
	slices.Reverse(list)
	return linesOf(list, t.Head), older, nil
}

// linesOf are checkpoints, the oldest first, as lines. Where a line parts, it goes on towards the head, or else to the
// newest checkpoint; the others are its branches.
func linesOf(list []mapping.Checkpoint, head string) []treeLine {
	f := forest{by: map[string]mapping.Checkpoint{}, behind: map[string][]string{}, head: head, main: map[string]bool{}}
	for _, c := range list {
		f.by[c.ID] = c
	}
	var roots []string
	for _, c := range list {
		if _, there := f.by[c.Parent]; there {
			f.behind[c.Parent] = append(f.behind[c.Parent], c.ID)
		} else {
			roots = append(roots, c.ID)
		}
	}
	for at := head; at != "" && !f.main[at]; at = f.by[at].Parent {
		f.main[at] = true
	}
	lines := []treeLine{}
	for _, id := range roots {
		lines = append(lines, f.line(id))
	}
	return lines
}

type forest struct {
	by     map[string]mapping.Checkpoint
	behind map[string][]string // the oldest first
	main   map[string]bool     // those that lead to the head
	head   string
}

func (f forest) line(id string) (line treeLine) {
	for id != "" {
		c := f.by[id]
		n := treeNode{ID: id, Parent: c.Parent, Step: c.Step, Source: c.Source, Next: c.Next, RunID: c.RunID, Head: id == f.head, CreatedAt: c.CreatedAt}
		id = f.goesOn(f.behind[id])
		for _, other := range f.behind[n.ID] {
			if other != id {
				n.Branches = append(n.Branches, f.line(other))
			}
		}
		line = append(line, n)
	}
	return line
}

func (f forest) goesOn(behind []string) string {
	if i := slices.IndexFunc(behind, func(id string) bool { return f.main[id] }); i >= 0 {
		return behind[i]
	}
	if len(behind) > 0 {
		return behind[len(behind)-1]
	}
	return ""
}
