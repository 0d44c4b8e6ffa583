package backend

import (
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
)

// lingering returns a play whose stream stays open after the end of its run.
func lingering(p adaptertest.ThreadPlay) adaptertest.ThreadPlay {
	p.Linger = true
	return p
}

// TestStreamThatStaysOpenAfterTheEnd checks that a run ends when its frames and its server report the end, even if the
// stream stays open, and that no earlier frame is lost.
func TestStreamThatStaysOpenAfterTheEnd(t *testing.T) {
	t.Parallel()
	trailing := lingering(adaptertest.ChatPlay())
	for range 50 {
		trailing.Frames = append(trailing.Frames, `custom {"late":true}`)
	}
	for name, c := range map[string]struct {
		play   adaptertest.ThreadPlay
		status mapping.RunStatus
		custom int
	}{
		"end":                   {lingering(adaptertest.ChatPlay()), mapping.RunSuccess, 1},
		"frames behind the end": {trailing, mapping.RunSuccess, 51},
		"question":              {lingering(adaptertest.AskPlay()), mapping.RunInterrupted, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := run(t, playing(c.play), adaptertest.NewTask(nil))
			custom := 0
			for _, ev := range tr.Events {
				if ev.Kind == mapping.KindCustom {
					custom++
				}
			}
			if tr.Err != nil || tr.End() == nil || tr.End().Status != c.status || custom != c.custom {
				t.Errorf("error %v, outcome %+v, %d custom frames", tr.Err, tr.End(), custom)
			}
		})
	}
}

// TestStepsOfAStreamThatStaysOpen covers lockstep, where each step is a run with its own stream.
func TestStepsOfAStreamThatStaysOpen(t *testing.T) {
	t.Parallel()
	var plays []adaptertest.ThreadPlay
	for _, p := range adaptertest.StepPlays() {
		plays = append(plays, lingering(p))
	}
	task := adaptertest.NewTask(nil)
	task.OneStep = true
	tr := run(t, playing(plays...), task)
	if tr.Err != nil || !tr.End().Parked || nodesOf(tr) != "plan" {
		t.Errorf("error %v, updates of %q, outcome %+v", tr.Err, nodesOf(tr), tr.End())
	}
}

// TestQuestionsComeLast checks that the output of other nodes of the superstep, and the frames of a subgraph that asks,
// precede the question, because clients leave at it.
func TestQuestionsComeLast(t *testing.T) {
	t.Parallel()
	play := adaptertest.AskPlay()
	i := slices.IndexFunc(play.Frames, func(f string) bool { return strings.HasPrefix(f, `updates {"__interrupt__":`) })
	play.Frames = slices.Insert(play.Frames, i, strings.Replace(play.Frames[i], "updates", "updates|sub:1", 1))
	play.Frames = append(play.Frames, `updates {"beside":{"x":1}}`)
	tr := run(t, playing(play), adaptertest.NewTask(nil))
	got := traced(tr)
	want := []string{"update beside #10", "chunk updates", "interrupt", "linked", "end"}
	if tr.Err != nil || len(got) < len(want) || !slices.Equal(got[len(got)-len(want):], want) {
		t.Errorf("error %v, events end in %q", tr.Err, got)
	}
}
