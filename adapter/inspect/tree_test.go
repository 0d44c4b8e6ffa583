package inspect

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
)

// checkpointsOf reads "child<parent" pairs, newest first.
func checkpointsOf(text string) (list []mapping.Checkpoint) {
	for i, pair := range strings.Fields(text) {
		id, parent, _ := strings.Cut(pair, "<")
		list = append(list, mapping.Checkpoint{ID: id, Parent: parent, Step: i})
	}
	return list
}

// laidOut returns one line for each row: its id, its lane and what the page says about its line.
func laidOut(rows []treeRow) (lines []string) {
	for _, r := range rows {
		text := fmt.Sprintf("%s %d", r.ID, r.Lane)
		if r.Head {
			text += " head"
		}
		if r.Tip {
			text += " tip"
		}
		if r.Branches > 0 {
			text += fmt.Sprintf(" branches=%d", r.Branches)
		}
		if r.Off != "" {
			text += " off=" + r.Off
		}
		lines = append(lines, text)
	}
	return lines
}

func TestOnlyATreeWithBranchesIsBranched(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		tree tree
		want bool
	}{
		"one line":                {tree{Groups: []treeGroup{{Rows: []treeRow{{}, {}}}}, Lines: []string{"a"}}, false},
		"a branch":                {tree{Groups: []treeGroup{{Rows: []treeRow{{}}}, {Rows: []treeRow{{Lane: 1}}}}}, true},
		"a branch of an old page": {tree{Groups: []treeGroup{{Rows: []treeRow{{}}}}, Lines: []string{"a", "b"}}, true},
	} {
		if got := one.tree.Branched(); got != one.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestLinesHaveLanes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		list, head string
		lines      []string // of the page before
		more       bool     // there is a next page
		want       []string
		open       []string // lines that continue on the next page
	}{
		"one line": {list: "c<b b<a a", head: "c", want: []string{"c 0 head", "b 0", "a 0"}},
		"a fork, the newest is the head": {list: "d<a c<b b<a a", head: "d",
			want: []string{"d 0 head", "c 1 tip", "b 1 off=a", "a 0 branches=2"}},
		"a fork, the older line is the head": {list: "d<a c<b b<a a", head: "c",
			want: []string{"d 1 tip off=a", "c 0 head", "b 0", "a 0 branches=2"}},
		"a fork of a fork": {list: "f<d e<d d<b c<b b<a a", head: "c",
			want: []string{"f 1 tip", "e 2 tip off=d", "d 1 branches=2 off=b", "c 0 head", "b 0 branches=2", "a 0"}},
		"a lane is used again": {list: "e<d d<c x<c c<b y<b b<a a", head: "e",
			want: []string{"e 0 head", "d 0", "x 1 tip off=c", "c 0 branches=2", "y 1 tip off=b", "b 0 branches=2", "a 0"}},
		"wide": {list: "e<a d<a c<a b<a a", head: "e",
			want: []string{"e 0 head", "d 1 tip off=a", "c 2 tip off=a", "b 3 tip off=a", "a 0 branches=4"}},
		"the head has later lines": {list: "d<b c<b b<a a", head: "b",
			want: []string{"d 1 tip off=b", "c 2 tip off=b", "b 0 head branches=2", "a 0"}},
		"several roots":              {list: "d<b c b<a a", head: "d", want: []string{"d 0 head", "c 1 tip", "b 0", "a 0"}},
		"the parent was deleted":     {list: "c<b b<gone", head: "c", want: []string{"c 0 head", "b 0"}},
		"no head":                    {list: "b<a a", want: []string{"b 1 tip", "a 1"}},
		"a page with a next one":     {list: "e<a d<c c<b", head: "e", more: true, want: []string{"e 0 head", "d 1 tip", "c 1"}, open: []string{"a", "b"}},
		"its next page":              {list: "b<a a", head: "e", lines: []string{"a", "b"}, want: []string{"b 1 off=a", "a 0 branches=2"}},
		"a next page without lines":  {list: "b<a a", head: "e", want: []string{"b 1 tip", "a 1"}},
		"lines that lead to nothing": {list: "a", head: "a", lines: []string{"", "x", "y"}, want: []string{"a 0 head"}},
	} {
		list := checkpointsOf(tt.list)
		d := newLayout(tt.head, tt.lines)
		if !tt.more {
			d.known = map[string][]string{}
			for _, c := range list {
				d.known[c.ID] = nil
			}
		}
		rows := d.rows(list)
		if diff := cmp.Diff(tt.want, laidOut(rows)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if tt.more && !slices.Equal(d.lanes, tt.open) {
			t.Errorf("%s: the lines %q continue, want %q", name, d.lanes, tt.open)
		}
		checkDrawing(t, name, rows, len(tt.lines) == 0)
	}
}

// checkDrawing checks that each line that leaves a row at the lower edge arrives in the next one, and that no line comes
// from nowhere.
func checkDrawing(t *testing.T, name string, rows []treeRow, first bool) {
	t.Helper()
	places := func(d drawing, lower bool) (list []int) {
		for _, l := range d.Lines {
			if lower && l.To == bottomEdge || !lower && l.up {
				list = append(list, l.X)
			}
		}
		if !lower {
			for _, lane := range d.joined {
				list = append(list, laneX(lane))
			}
		}
		slices.Sort(list)
		return list
	}
	for i, r := range rows {
		above := []int(nil)
		if i > 0 {
			above = places(rows[i-1].Drawing, true)
		}
		if i == 0 && !first {
			continue
		}
		if got := places(r.Drawing, false); !slices.Equal(got, above) {
			t.Errorf("%s: lines at %v reach %s, but those above it end at %v", name, got, r.ID, above)
		}
		if got := places(r.Drawing.above(), true); !slices.Equal(got, above) {
			t.Errorf("%s: lines at %v are drawn above %s, want %v", name, got, r.ID, above)
		}
	}
}

// A drawing of many lines stays narrow. Lines without a lane of their own share the last.
func TestDrawingIsBounded(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 100 {
		fmt.Fprintf(&text, "c%d<a ", i)
	}
	d := newLayout("c0", nil)
	rows := d.rows(checkpointsOf(text.String() + "a"))
	if got := rows[100]; got.Branches != 100 || got.Drawing.Width > 120 {
		t.Errorf("%d branches, %d pixels", got.Branches, got.Drawing.Width)
	}
}

func TestNews(t *testing.T) {
	t.Parallel()
	const garden = `{"type":"human","content":"Plan\n a garden","id":"1"}`
	for _, tt := range []struct {
		before, after string
		want          news
	}{
		{``, `{"messages":[` + garden + `]}`, news{Role: "person", Text: "Plan a garden"}},
		{`{"messages":[` + garden + `]}`, `{"messages":[` + garden + `,{"type":"tool","content":"x"},{"type":"ai","name":"bot","content":"done"}]}`, news{Role: "agent", Name: "bot", Text: "done", More: 1}},
		{`{}`, `{"messages":[{"type":"ai","content":"","tool_calls":[{"name":"look","args":{}}]}]}`, news{Role: "agent", Text: "calls look"}},
		{`{}`, `{"messages":[{"type":"ai","content":""}]}`, news{Role: "agent"}},
		{`{"n":1,"old":2}`, `{"n":2}`, news{Text: "2 values changed: n, old"}},
		{`{"n":1}`, `{"n":1.0,"m":3}`, news{Text: "1 value changed: m"}},
		{``, `{"a":1,"b":1,"c":1,"d":1}`, news{Text: "4 values changed: a, b, c, …"}},
		{``, `{"messages":[],"files":{}}`, news{}},
		{`{"messages":[` + garden + `]}`, `{"messages":[]}`, news{Text: "1 value changed: messages"}},
		{`{"a":1}`, `{"a":1}`, news{}},
	} {
		if diff := cmp.Diff(tt.want, newsOf(json.RawMessage(tt.before), json.RawMessage(tt.after))); diff != "" {
			t.Errorf("%s to %s (-want +got):\n%s", tt.before, tt.after, diff)
		}
	}
	long := newsOf(nil, json.RawMessage(`{"messages":[{"role":"user","content":"`+strings.Repeat("ü ", 5000)+`"}]}`))
	if n := len([]rune(long.Text)); n > maxNews+1 {
		t.Errorf("%d characters", n)
	}
}
