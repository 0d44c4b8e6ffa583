package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
)

const (
	maxCheckpoints = 200 // of a page
	// maxStates bounds the states, in bytes, that are read to describe the checkpoints of a page. Those of most threads
	// fit. Of larger states only the newest checkpoints are described.
	maxStates   = 4 << 20
	maxNews     = 120 // characters of a message
	maxSelected = 10  // checkpoints that are kept from page to page
)

// tree is a page of the checkpoints of a thread, newest first, like the log of a version control system. The head is
// thus the first, and older pages continue below. Consecutive checkpoints of the same run are a group.
type tree struct {
	Groups []treeGroup `json:"groups"`
	Older  string      `json:"older,omitempty"` // the checkpoint before which the tree continues
	// Lines are the checkpoints to which the lines of the drawing lead on the next page, by lane; "" if the lane is free.
	Lines []string `json:"lines,omitempty"`
	First bool     `json:"-"` // it begins with the newest checkpoint
	Away  []string `json:"-"` // selected checkpoints of other pages
	Brief bool     `json:"-"` // some checkpoints have no description, because the states are large
}

// Place returns the place of the next page, for the parameter "older".
func (t tree) Place() string { return strings.Join(append([]string{t.Older}, t.Lines...), ",") }

// Branched reports whether the page shows several lines.
func (t tree) Branched() bool {
	return len(t.Lines) > 1 || slices.ContainsFunc(t.Groups, func(g treeGroup) bool {
		return slices.ContainsFunc(g.Rows, func(r treeRow) bool { return r.Lane > 0 })
	})
}

// treePlace is a page of a tree.
type treePlace struct {
	before   string   // the checkpoint before which it begins; "" is the first page
	lines    []string // Lines of the page before it
	selected []string // checkpoints that are selected for a comparison
}

// readPlace reads the parameters of the form around the tree.
func readPlace(q url.Values) treePlace {
	place := strings.Split(q.Get("older"), ",")
	return treePlace{place[0], place[1:], q["at"][:min(len(q["at"]), maxSelected)]}
}

// treeGroup are consecutive checkpoints of one run, or those that no run made.
type treeGroup struct {
	RunID   string            `json:"run_id,omitempty"`
	Request string            `json:"request,omitempty"` // in words
	Agent   string            `json:"agent,omitempty"`
	Status  mapping.RunStatus `json:"status,omitempty"`
	State   string            `json:"-"`              // the status for display
	Gone    bool              `json:"gone,omitempty"` // the run was deleted
	Answers bool              `json:"answers,omitempty"`
	Rows    []treeRow         `json:"checkpoints"`
	Drawing drawing           `json:"-"` // of the lines that pass the title
}

// Short returns the end of the run's id.
func (g treeGroup) Short() string { return shortID(g.RunID) }

// treeRow is a checkpoint.
type treeRow struct {
	ID        string    `json:"id"`
	Parent    string    `json:"parent,omitempty"`
	Step      int       `json:"step"`
	Source    string    `json:"source"`
	Nodes     []string  `json:"nodes,omitempty"` // that ran between the parent and this
	Next      []string  `json:"next,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	News      *news     `json:"news,omitempty"` // nil if it is not known
	Lane      int       `json:"lane"`           // 0 is the line of the head
	Head      bool      `json:"head,omitempty"`
	Tip       bool      `json:"tip,omitempty"`      // the newest of another line than the head's
	Branches  int       `json:"branches,omitempty"` // lines that continue from here, if there are several
	Off       string    `json:"off,omitempty"`      // the checkpoint from which this line branched off, at the line's first
	OffStep   string    `json:"-"`                  // of Off, in words
	Selected  bool      `json:"-"`                  // for a comparison
	Drawing   drawing   `json:"-"`
}

// StepName returns the step in words.
func (r treeRow) StepName() string { return stepName(r.Step, r.Parent) }

// Short returns the end of the checkpoint's id.
func (r treeRow) Short() string { return shortID(r.ID) }

// What returns the description of the checkpoint.
func (r treeRow) What() string {
	switch {
	case r.News == nil:
		return r.StepName()
	case r.News.Text != "":
		return r.News.Text
	case r.News.Role != "":
		return "a message without text"
	case r.Source == "input":
		return "before the input"
	}
	return "nothing changed"
}

// news are the differences of a state to its parent's in a few words: the newest message, or else the changed values.
type news struct {
	Role string `json:"role,omitempty"` // of the newest message
	Name string `json:"name,omitempty"` // of its author
	Text string `json:"text"`
	More int    `json:"more,omitempty"` // further new messages
}

// readTree returns a page of the tree: the newest checkpoints, or those before a given one.
func (s *server) readTree(ctx context.Context, t mapping.Thread, runs []threadRun, at treePlace) (tree, error) {
	list, err := s.Service.ListCheckpoints(ctx, t.ID, adapter.HistoryQuery{Before: at.before, Limit: maxCheckpoints + 1})
	if err != nil {
		return tree{}, err
	}
	described, whole, err := s.readNews(ctx, t.ID, at.before)
	if err != nil {
		return tree{}, err
	}
	out := tree{First: at.before == "", Brief: !whole}
	more := len(list) > maxCheckpoints
	nodes := map[string][]string{}
	for _, c := range list {
		nodes[c.ID] = c.Next
	}
	if more {
		list = list[:maxCheckpoints]
		out.Older = list[len(list)-1].ID
	}
	d := newLayout(t.Head, at.lines)
	if !more {
		d.known = nodes
	}
	rows := d.rows(list)
	for i := range rows {
		r := &rows[i]
		if r.Source == "loop" {
			r.Nodes = slices.DeleteFunc(slices.Clone(nodes[r.Parent]), isNameless)
		}
		r.Selected = slices.Contains(at.selected, r.ID)
		if n, ok := described[r.ID]; ok {
			r.News = &n
		}
	}
	for _, id := range at.selected {
		if !slices.ContainsFunc(list, func(c mapping.Checkpoint) bool { return c.ID == id }) {
			out.Away = append(out.Away, id)
		}
	}
	if more {
		out.Lines = d.lanes[:min(len(d.lanes), maxOpenLines)]
	}
	out.Groups, err = s.groupByRun(ctx, &t, runs, list, rows)
	return out, err
}

// isNameless reports whether a node has no name of its own: LangGraph's entry, or the only node of an agent without a
// graph.
func isNameless(node string) bool { return node == "__start__" || node == "step" }

// readNews describes the newest checkpoints before a given one. whole is false if maxStates was exceeded. A checkpoint
// is not described if its parent is far down the next page.
func (s *server) readNews(ctx context.Context, thread, before string) (described map[string]news, whole bool, err error) {
	described, size := map[string]news{}, 0
	waiting := map[string][]adapter.ThreadState{} // for the state of their parent
	for st, err := range s.Service.StateHistory(ctx, thread, adapter.HistoryQuery{Before: before, Limit: maxCheckpoints + 1}) {
		if err != nil {
			return nil, false, err
		}
		for _, child := range waiting[st.Checkpoint] {
			described[child.Checkpoint] = newsOf(st.Values, child.Values)
		}
		delete(waiting, st.Checkpoint)
		if st.Parent == "" {
			described[st.Checkpoint] = newsOf(nil, st.Values)
		} else {
			waiting[st.Parent] = append(waiting[st.Parent], st)
		}
		if size += len(st.Values); size > maxStates {
			return described, false, nil
		}
	}
	return described, true, nil
}

// newsOf returns what a state adds to an earlier one.
func newsOf(before, after json.RawMessage) news {
	if fresh := addedMessages(messagesIn(before), messagesIn(after)); len(fresh) > 0 {
		t := turnOf(fresh[len(fresh)-1])
		n := news{Role: t.Role, Name: cutRunes(t.Name, 40), Text: cutRunes(line(t.Text.Text), maxNews), More: len(fresh) - 1}
		if n.Text == "" && len(t.Calls) > 0 {
			n.Text = "calls " + cutRunes(t.Calls[0].Name, 60)
		}
		return n
	}
	var names []string
	was, is := membersOf(before), membersOf(after)
	for _, m := range is.list {
		if !bytes.Equal(was.at[m.Name], m.Value) && !(rawjson.IsNull(was.at[m.Name]) && isEmpty(m.Value)) && !rawjson.Equal(was.at[m.Name], m.Value) {
			names = append(names, m.Name)
		}
	}
	for _, m := range was.list {
		if _, there := is.at[m.Name]; !there {
			names = append(names, m.Name)
		}
	}
	if len(names) == 0 {
		return news{}
	}
	const most = 3
	listed := strings.Join(names[:min(len(names), most)], ", ")
	if len(names) > most {
		listed += ", …"
	}
	return news{Text: counted(len(names), "value") + " changed: " + cutRunes(listed, 80)}
}

// isEmpty reports whether a value is null or a container without contents.
func isEmpty(v json.RawMessage) bool {
	return rawjson.IsNull(v) || rawjson.Kind(v) == '[' && rawjson.CountElements(v) == 0 || rawjson.Kind(v) == '{' && rawjson.CountMembers(v) == 0
}

// groupByRun groups the rows of the checkpoints in list. It reads up to maxThreadRuns runs that are not in runs. Of
// others only the id is known.
func (s *server) groupByRun(ctx context.Context, t *mapping.Thread, runs []threadRun, list []mapping.Checkpoint, rows []treeRow) ([]treeGroup, error) {
	known := map[string]threadRun{}
	for _, r := range runs {
		known[r.RunID] = r
	}
	groups := []treeGroup{}
	for i, c := range list {
		if i > 0 && c.RunID == list[i-1].RunID {
			g := &groups[len(groups)-1]
			g.Rows = append(g.Rows, rows[i])
			continue
		}
		run, ok := known[c.RunID]
		if !ok && c.RunID != "" && len(known) < maxThreadRuns+len(runs) {
			r, err := s.Service.GetRun(ctx, adapter.RunRef{ThreadID: t.ID, RunID: c.RunID})
			if err != nil && !isNotFound(err) {
				return nil, err
			}
			run.RunID = c.RunID
			if err == nil {
				run = viewThreadRun(r, t)
			}
			known[c.RunID] = run
		}
		groups = append(groups, treeGroup{
			RunID: c.RunID, Request: run.Request, Agent: run.Agent, Status: run.Status, State: run.State(), Answers: run.Answers,
			Gone: run.RunID != "" && run.Status == "", Rows: []treeRow{rows[i]}, Drawing: rows[i].Drawing.above(),
		})
	}
	return groups, nil
}

func viewThreadRun(r *mapping.Run, t *mapping.Thread) threadRun {
	return threadRun{r.ID, r.Agent, line(rule.RequestText(r.Kwargs)), r.Status, answered(r, t), r.Owner, r.Options.Resuming, r.CreatedAt}
}
