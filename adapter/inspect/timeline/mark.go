package timeline

import (
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	lru "github.com/hashicorp/golang-lru/v2"
)

// marksKept is at how many places reading can go on. One is as large as the names of the messages before it.
const marksKept = 64

// Marks are places of runs at which pages ended: the page after one is read from there, and not from the run's start,
// also of a run at work, whose page asks each second. They hold what observers know, and no right: New has found the
// run first. Safe for concurrent use.
type Marks struct{ kept *lru.Cache[place, mark] }

// place is where reading can go on, for observers that were told the same of the run's agent: what is not known of it
// yet, as after a start of the bridge, may turn out otherwise, and then the run is read from its start.
type place struct {
	run     string
	exposes mapping.Exposure
	seq     int64
}

type mark struct {
	at        time.Time // of the event
	observers []adapter.Observer
}

// NewMarks returns Marks without a place.
func NewMarks() *Marks {
	kept, err := lru.New[place, mark](marksKept)
	if err != nil {
		panic(err) // of a size below one
	}
	return &Marks{kept}
}

func (a *Axis) place(seq int64) place { return place{a.Run.ID, a.exposes, seq} }

// keep notes that the axis has seen all up to an event.
func (a *Axis) keep(seq int64, at time.Time) {
	if a.marks == nil || seq == 0 {
		return
	}
	m := mark{at: at}
	for _, c := range a.columns {
		m.observers = append(m.observers, c.observer.Fork())
	}
	a.marks.kept.Add(a.place(seq), m)
}

// resume has the axis go on after an event, if its place is known; it has to be fresh.
func (a *Axis) resume(seq int64) (at time.Time, ok bool) {
	if a.marks == nil || seq == 0 {
		return at, false
	}
	m, ok := a.marks.kept.Get(a.place(seq))
	if !ok || len(m.observers) != len(a.columns) {
		return at, false
	}
	for i := range a.columns {
		a.columns[i].observer = m.observers[i].Fork()
	}
	return m.at, true
}
