package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func of(columns int) func() int { return func() int { return columns } }

// A row fits on one line, in any script and at the current width.
func TestFit(t *testing.T) {
	t.Parallel()
	columns := 10
	l := &live{plain: func(s string) string { return s }}
	for in, want := range map[string]string{
		"": "", "123456789": "123456789", "1234567890": "12345678…", "一二三四": "一二三四", "一二三四五": "一二三四…", "1二三四五六": "1二三四…",
		"éeeeeeeee": "éeeeeeeee", "a\xff": "a\xff", "a\tb\nc": "a b c",
	} {
		if got := l.fit(in, columns); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	columns = 5
	if got := l.fit("123456789", columns); got != "123…" {
		t.Errorf("a narrower terminal: %q", got)
	}
}

// A long step shows its duration, and without running attempts nothing is drawn.
func TestWaiting(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	now := time.Unix(0, 0)
	l := &live{w: &out, plain: func(s string) string { return s }, width: of(80), now: func() time.Time { return now }}
	l.again()
	l.watch(Event{Kind: EventAsk, Challenge: "A", Step: 2})
	now = now.Add(62*time.Second + 400*time.Millisecond)
	l.again()
	l.watch(Event{Kind: EventStep, Challenge: "A", Step: 2, Text: "done"})
	want := []string{"", "  A: step 2 …\n\x1b[1A", "  A (1m2s): step 2 …\n\x1b[1A", "  A: step 2: done\n"}
	if diff := cmp.Diff(want, strings.Split(out.String(), "\r\x1b[J")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A long name leaves room for the step, and the number of rows is bounded.
func TestRows(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	now := time.Unix(0, 0)
	l := &live{w: &out, plain: func(s string) string { return s }, width: of(30), now: func() time.Time { return now }}
	for i := range mostRows + 2 {
		l.watch(Event{Kind: EventAsk, Challenge: fmt.Sprintf("%02d is a very long name", i), Step: 3})
	}
	frames := strings.Split(out.String(), "\r\x1b[J")
	rows := strings.Split(frames[len(frames)-1], "\n")
	if rows[0] != "  00 is a very …: step 3 …" || rows[mostRows] != "  and 2 more" || len(rows) != mostRows+2 || l.drawn != mostRows+1 {
		t.Errorf("%d drawn: %q", l.drawn, rows)
	}
}

// Nothing is drawn after the end.
func TestTickEnds(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := &live{w: &out, plain: func(s string) string { return s }, width: of(80), now: time.Now}
	ended, over := make(chan struct{}), make(chan struct{})
	go func() { l.tick(time.Millisecond, ended); close(over) }()
	close(ended)
	<-over
}

// In a pipe each event with news is one line. For programs each event is JSON.
func TestLines(t *testing.T) {
	t.Parallel()
	var plain, lines bytes.Buffer
	p, j := PlainProgress(&plain), EventLines(&lines)
	events := []Event{
		{Kind: EventBegin, Target: "x\ny", Of: 1}, {Kind: EventChallenge, Challenge: "A", Attempt: 2}, {Kind: EventTask, Challenge: "A", Attempt: 2, Text: "t"},
		{Kind: EventUpload, Challenge: "A", Attempt: 2, Text: "in.txt"}, {Kind: EventAsk, Challenge: "A", Attempt: 2, Step: 1}, {Kind: EventStep, Challenge: "A", Attempt: 2, Step: 1},
		{Kind: EventResult, Challenge: "A", Attempt: 2, Result: &Attempt{Status: Skipped, Reason: "no"}}, {Kind: EventStop}, {Kind: EventEnd},
	}
	for _, e := range events {
		e.Time = time.Now()
		p(e)
		j(e)
	}
	var got []string
	for line := range strings.Lines(plain.String()) {
		_, text, _ := strings.Cut(line, "s  ")
		got = append(got, strings.TrimSpace(text))
	}
	want := []string{"x y: attempts to make: 1", "A [2]: task t", "A [2]: uploading in.txt", "A [2]: step 1", "A [2]: skipped: no",
		"stopping: judging the files so far and skipping the rest; press Ctrl-C again to exit at once, without reports"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	n := 0
	for line := range strings.Lines(lines.String()) {
		var e Event
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Kind != events[n].Kind {
			t.Errorf("%v: %s", err, line)
		}
		n++
	}
	if n != len(events) {
		t.Errorf("%d lines of JSON", n)
	}
}
