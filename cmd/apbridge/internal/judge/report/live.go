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

// LiveProgress returns a function that shows a line for each running attempt, with its activity and the time since it
// began. It leaves a line for each finished attempt. It writes ANSI sequences (ECMA-48: CUU, ED), so w must be a raw
// terminal. plain makes a text harmless. width returns the current number of columns. After EventEnd nothing more is
// written.
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

// mostRows bounds the rows, since a row above the top of the screen cannot be overwritten.
const mostRows = 10

type live struct {
	mu        sync.Mutex
	now       func() time.Time
	w         io.Writer
	plain     func(string) string
	width     func() int
	rows      []row // oldest first
	drawn     int   // lines on the screen to overwrite
	ended, of int
}

// row is a running attempt.
type row struct {
	name, doing string
	since       time.Time
}

// tick redraws the rows until ended is closed.
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

// draw writes a lasting line, if there is one, and the rows below it.
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
	_, _ = io.WriteString(l.w, b.String()) // the report has all of them
}

// waited returns the time since the last change of a row, from a second on.
func (l *live) waited(r row) string {
	if d := l.now().Sub(r.since).Truncate(time.Second); d > 0 {
		return " (" + d.String() + ")"
	}
	return ""
}

// row shortens a long name to leave room for the activity.
func (l *live) row(r row) string {
	return l.fit("  "+l.fit(r.name, l.width()/2)+l.waited(r)+": "+r.doing, l.width())
}

// fit shortens a text to one line of fewer than room columns. Otherwise the next draw would miss lines.
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

// oneLine removes line breaks and tabs, whose width is unknown.
var oneLine = strings.NewReplacer("\r", " ", "\n", " ", "\t", " ")

// columnsOf returns the columns of a character on a terminal (Unicode TR11).
func columnsOf(r rune) int {
	switch kind := width.LookupRune(r).Kind(); {
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case kind == width.EastAsianWide || kind == width.EastAsianFullwidth:
		return 2
	}
	return 1
}
