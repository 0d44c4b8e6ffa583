package bench

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/report"
)

// TestBenchOnATerminal checks that lines are rewritten by our own escape sequences and that an agent's sequences are
// escaped.
func TestBenchOnATerminal(t *testing.T) {
	t.Parallel()
	var raw bytes.Buffer
	p := &program{&console.Process{Out: console.TerminalOf(&raw), Environ: []string{"COLUMNS=40"}}}
	watch := p.progress()
	for _, e := range []report.Event{
		{Kind: report.EventBegin, Target: "x", Of: 2}, {Kind: report.EventChallenge, Challenge: "A"}, {Kind: report.EventChallenge, Challenge: "B"},
		{Kind: report.EventStep, Challenge: "A", Step: 3, Text: "\x1b[2J" + strings.Repeat("long ", 20)}, {Kind: report.EventAsk, Challenge: "B", Step: 2},
		{Kind: report.EventResult, Challenge: "A", Result: &report.Attempt{Status: report.Passed, Steps: 3}}, {Kind: report.EventEnd},
	} {
		watch(e)
	}
	var lines bytes.Buffer
	dumb := &program{&console.Process{Out: console.TerminalOf(&lines), Environ: []string{"TERM=dumb"}}}
	dumb.progress()(report.Event{Kind: report.EventBegin, Target: "x", Of: 2, Time: time.Now()})
	if got := lines.String(); strings.Contains(got, "\x1b") || !strings.HasSuffix(got, "s  x: attempts to make: 2\n") {
		t.Errorf("on a terminal that rewrites no lines: %q", got)
	}
	frames := strings.Split(raw.String(), "\r\x1b[J")
	want := []string{
		"", "x: attempts to make: 2\n", "  A: starting\n\x1b[1A", "  A: starting\n  B: starting\n\x1b[2A", "  A: step 3: \\u001b[2Jlong long long l…\n  B: starting\n\x1b[2A",
		"  A: step 3: \\u001b[2Jlong long long l…\n  B: step 2 …\n\x1b[2A", "[1/2] A: passed (3 steps, 0.0 s)\n  B: step 2 …\n\x1b[1A", "",
	}
	if !slices.Equal(frames, want) {
		t.Errorf("got\n%q\nwant\n%q", frames, want)
	}
}
