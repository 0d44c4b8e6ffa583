package inspect

import (
	"fmt"
	"slices"

	"github.com/apbridge/apbridge/mapping"
)

const (
	// maxLanes is the maximum number of lanes of the drawing. Further lines share the last lane.
	maxLanes = 9
	// maxOpenLines bounds the lines that continue on the next page, because its URL lists them.
	maxOpenLines = 40
)

// layout places the lines of a tree in lanes, from the newest checkpoint to the oldest. A line keeps its lane down to
// the checkpoint from which it branched off. The lane is then free for another line.
type layout struct {
	head  string
	lanes []string            // the checkpoint to which the line in each lane leads, which comes later; "" if the lane is free
	known map[string][]string // all older checkpoints, if the page is the last; a line to another one ends
}

// newLayout returns the layout of a page that begins with the given open lines. Lane 0 is kept for the line of the head.
func newLayout(head string, lines []string) *layout {
	d := &layout{head: head, lanes: []string{""}}
	if len(lines) > 0 {
		d.lanes = slices.Clone(lines[:min(len(lines), maxOpenLines)])
	}
	return d
}

// rows returns the checkpoints, newest first, with their lanes and drawings.
func (d *layout) rows(list []mapping.Checkpoint) []treeRow {
	rows := make([]treeRow, len(list))
	newest := map[int]int{} // lane: the row of its line that was placed last
	for i, c := range list {
		r := &rows[i]
		*r = treeRow{ID: c.ID, Parent: c.Parent, Step: c.StepNumber(), Source: c.Source, Next: c.Next, CreatedAt: c.CreatedAt, Head: c.ID == d.head}
		passing := slices.Clone(d.lanes)
		at, up := d.place(c.ID)
		r.Lane, r.Tip = at, !up && !r.Head
		lines := 0
		if up {
			lines++
		}
		var joins []int
		for lane := at + 1; lane < len(d.lanes); lane++ {
			if d.lanes[lane] != c.ID {
				continue
			}
			joins, d.lanes[lane] = append(joins, lane), ""
			if row, here := newest[lane]; here {
				rows[row].Off, rows[row].OffStep = r.ID, r.StepName()
			}
			delete(newest, lane)
			lines++
		}
		if lines > 1 {
			r.Branches = lines
		}
		parent := c.Parent
		if _, there := d.known[parent]; d.known != nil && !there {
			parent = ""
		}
		d.lanes[at], newest[at] = parent, i
		r.Drawing = draw(passing, at, joins, up, parent != "")
	}
	width := 0
	for i := range rows {
		width = max(width, rows[i].Drawing.Width)
	}
	for i := range rows {
		rows[i].Drawing.Width = width
	}
	return rows
}

// place returns the lane of a checkpoint: that of the first line that leads to it, or a free one. up reports whether
// there is such a line. The head is in lane 0, even if other lines lead to it.
func (d *layout) place(id string) (lane int, up bool) {
	if id == d.head {
		return 0, d.lanes[0] == id
	}
	if lane := slices.Index(d.lanes, id); lane >= 0 {
		return lane, true
	}
	for lane := 1; lane < len(d.lanes); lane++ {
		if d.lanes[lane] == "" {
			return lane, false
		}
	}
	d.lanes = append(d.lanes, "")
	return len(d.lanes) - 1, false
}

// drawing is the part of the drawing in one row: lines from edge to edge, curves of lines that branch off, and a dot.
// Rows have any height, so ends of lines are lengths or percentages.
type drawing struct {
	Width  int
	Lines  []stroke
	Curves []curve
	Dot    *dot
	joined []int // the lanes of Curves
}

type stroke struct {
	X        int
	From, To string
	Colour   int
	up       bool // it begins at the upper edge
}

type curve struct {
	Path   string
	Colour int
}

type dot struct{ X, Y, Colour int }

const (
	lanePitch = 12
	laneEdge  = 8
	dotPlace  = 18 // below the upper edge, in the middle of the first line of text
	bend      = 8
	// Lines overlap those of the next row, because rows may begin between two pixels.
	topEdge, bottomEdge = "-1", "100%"
)

func laneX(lane int) int { return laneEdge + lanePitch*min(lane, maxLanes-1) }

// colourOf returns the number of a lane's colour. Colour 0 is only that of the head's line.
func colourOf(lane int) int {
	if lane == 0 {
		return 0
	}
	return 1 + (lane-1)%6
}

// draw returns the drawing of a checkpoint in a lane. passing are the lanes above it, and joins the lanes of the lines
// that branch off from it.
func draw(passing []string, at int, joins []int, up, down bool) drawing {
	d := drawing{Dot: &dot{laneX(at), dotPlace, colourOf(at)}}
	for lane, to := range passing {
		if to != "" && lane != at && !slices.Contains(joins, lane) {
			d.Lines = append(d.Lines, stroke{laneX(lane), topEdge, bottomEdge, colourOf(lane), true})
		}
	}
	for _, lane := range slices.Backward(joins) { // lines nearer to the checkpoint cover those that are farther away
		d.Curves = append(d.Curves, curve{fmt.Sprintf("M%d %dH%dQ%d %d %d %dV0", laneX(at), dotPlace, laneX(lane)-bend, laneX(lane), dotPlace, laneX(lane), dotPlace-bend), colourOf(lane)})
	}
	middle := fmt.Sprint(dotPlace)
	if up {
		d.Lines = append(d.Lines, stroke{laneX(at), topEdge, middle, colourOf(at), true})
	}
	if down {
		d.Lines = append(d.Lines, stroke{laneX(at), middle, bottomEdge, colourOf(at), false})
	}
	last := at
	for lane, to := range passing {
		if to != "" {
			last = max(last, lane)
		}
	}
	d.Width, d.joined = laneX(last)+laneEdge, joins
	return d
}

// above returns the lines between this row and the one above it.
func (d drawing) above() drawing {
	out := drawing{Width: d.Width}
	for _, l := range d.Lines {
		if l.up {
			out.Lines = append(out.Lines, stroke{l.X, topEdge, bottomEdge, l.Colour, true})
		}
	}
	for _, lane := range d.joined {
		out.Lines = append(out.Lines, stroke{laneX(lane), topEdge, bottomEdge, colourOf(lane), true})
	}
	return out
}
