package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Live returns a function that shows a line for each try that is under way, with what it is at, and leaves a line for
// each that ended. It writes ANSI sequences (ECMA-48: CUU, ED), so w must be a terminal as it is; plain makes a text
// harmless, and width returns the number of columns at any time. A line shows how long it has not changed; after the
// event of the end nothing is written any more.
func LiveProgress(w io.Writer, plain func(string) string, width func() int) func(Event) {
	l := &live{w: w, plain: plain, width: width, now: time.Now}
	ended := make(chan struct{})
	go l.tick(time.Second, ended)
	return func(e Event) {
		l.watch(e)
		if e.Kind == EventEnd {
			close(ended)
		}
	}
}

// mostRows are shown, so that all are on the screen: a row above its top could not be written over.
const mostRows = 10

type live struct {
	mu        sync.Mutex
	now       func() time.Time
	w         io.Writer
	plain     func(string) string
	width     func() int
	rows      []row // that are shown, the oldest first
	drawn     int   // lines on the screen that are to be written over
	ended, of int
}

// row is a try that is under way.
type row struct {
	name, doing string
	since       time.Time
}

// tick draws the rows anew while something is under way.
func (l *live) tick(every time.Duration, ended <-chan struct{}) {
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-ended:
			return
		case <-t.C:
			l.again()
		}
	}
}

func (l *live) again() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.rows) > 0 {
		l.draw("")
	}
}

func (l *live) watch(e Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var lasting string
	switch e.Kind {
	case EventBegin:
		l.of, lasting = e.Of, line(e)
	case EventFault, EventStop:
		lasting = line(e)
	case EventResult:
		l.ended++
		l.rows = slices.DeleteFunc(l.rows, func(r row) bool { return r.name == label(e) })
		lasting = fmt.Sprintf("[%d/%d] %s", l.ended, l.of, line(e))
	case EventEnd:
		l.rows = nil
	default:
		l.set(label(e), doing(e))
	}
	l.draw(lasting)
}

func (l *live) set(name, doing string) {
	if i := slices.IndexFunc(l.rows, func(r row) bool { return r.name == name }); i >= 0 {
		l.rows[i].doing, l.rows[i].since = doing, l.now()
		return
	}
	l.rows = append(l.rows, row{name, doing, l.now()})
}

// doing is what a try is at.
func doing(e Event) string {
	switch e.Kind {
	case EventTask:
		return "task made"
	case EventUpload:
		return "uploading " + e.Text
	case EventAsk:
		return fmt.Sprintf("step %d …", e.Step)
	case EventStep:
		return fmt.Sprintf("step %d%s", e.Step, said(e.Text))
	case EventJudge:
		return "judging"
	}
	return "starting"
}

// draw writes a line that stays, if there is one, and the rows below it.
func (l *live) draw(lasting string) {
	var b strings.Builder
	if l.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", l.drawn)
	}
	b.WriteString("\r\x1b[J")
	if lasting != "" {
		b.WriteString(l.plain(oneLine.Replace(lasting)) + "\n")
	}
	shown := l.rows[:min(len(l.rows), mostRows)]
	for _, r := range shown {
		b.WriteString(l.row(r) + "\n")
	}
	l.drawn = len(shown)
	if more := len(l.rows) - len(shown); more > 0 {
		b.WriteString(l.fit(fmt.Sprintf("  and %d more", more), l.width()) + "\n")
		l.drawn++
	}
	_, _ = io.WriteString(l.w, b.String()) // what cannot be shown is in the report
}

// waited is for how long a row has not changed, from a second on.
func (l *live) waited(r row) string {
	if d := l.now().Sub(r.since).Truncate(time.Second); d > 0 {
		return " (" + d.String() + ")"
	}
	return ""
}

// row is what a row shows: of a long name the beginning, so that there is room for what is done.
func (l *live) row(r row) string {
	return l.fit("  "+l.fit(r.name, l.width()/2)+l.waited(r)+": "+r.doing, l.width())
}

// fit keeps a text on one line of less than so many columns, or the next drawing would not find it.
func (l *live) fit(text string, room int) string {
	text = l.plain(oneLine.Replace(text))
	columns, cut := 0, 0
	for at, r := range text {
		if columns += columnsOf(r); columns >= room {
			return text[:cut] + "…"
		}
		if columns <= room-2 {
			cut = at + utf8.RuneLen(r)
		}
	}
	return text
}

// oneLine leaves out what begins a line and what takes a number of columns that is not known.
var oneLine = strings.NewReplacer("\r", " ", "\n", " ", "\t", " ")

// columnsOf is how many columns a terminal gives a character (Unicode TR11).
func columnsOf(r rune) int {
	switch kind := width.LookupRune(r).Kind(); {
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case kind == width.EastAsianWide || kind == width.EastAsianFullwidth:
		return 2
	}
	return 1
}
