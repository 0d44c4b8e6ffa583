package backend

import (
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/adapter/sse"
	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
)

func TestRepeatedFramesAreDetected(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ read, after, stream, want string }{
		{"a b c", "c", "d e", "d e"},
		{"a b c", "c", "c d e", "d e"},
		{"a b c", "c", "a b c d e", "d e"},
		{"a b c", "c", "b c d", "d"},
		{"a b c", "c", "a b", ""},
		{"a b c c", "c", "c c d c", "d c"},
		{"a b", "b", "- b - c", "- - c"},
		{"", fromStart, "a b", "a b"},
		{"a", "", "a", "a"},
	} {
		var r resumed
		for _, id := range strings.Fields(c.read) {
			r.note(id)
		}
		r.begin(c.after)
		var got []string
		for _, id := range strings.Fields(c.stream) {
			if !r.repeats(sse.Event{Name: "updates", ID: strings.Trim(id, "-")}) {
				got = append(got, id)
			}
		}
		if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c, diff)
		}
	}
}

// shortPlay is for an agent without checkpoints, whose frames do not show the end of a run.
func shortPlay(change func(*adaptertest.ThreadPlay)) adaptertest.ThreadPlay {
	p := adaptertest.ChatPlay()
	var frames []string
	for _, f := range p.Frames {
		if !strings.HasPrefix(f, "checkpoints ") && !strings.HasPrefix(f, "tasks ") {
			frames = append(frames, f)
		}
	}
	p.Frames = frames
	change(&p)
	return p
}

// A successful run succeeds and is not cancelled, no matter how often its stream is reopened. No update is yielded
// twice.
func TestSuccessfulRunWithoutAnEndInItsStream(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change       func(*adaptertest.ThreadPlay)
		joins, asked int
	}{
		"the stream closes":                       {func(*adaptertest.ThreadPlay) {}, 1, 1},
		"the server says that the stream is over": {func(p *adaptertest.ThreadPlay) { p.Frames = append(p.Frames, "end null") }, 0, 1},
		"it says so, and keeps the stream open":   {func(p *adaptertest.ThreadPlay) { p.Frames, p.Linger = append(p.Frames, "end null"), true }, 0, 1},
		"the last frame comes again":              {func(p *adaptertest.ThreadPlay) { p.Resume = adaptertest.ResumeAt }, 1, 1},
		"all frames come again":                   {func(p *adaptertest.ThreadPlay) { p.Resume = adaptertest.ResumeAll }, 1, 1},
		"all come again, and the stream stays open": {func(p *adaptertest.ThreadPlay) {
			p.CloseAfter, p.Resume, p.Linger = []int{9}, adaptertest.ResumeAll, true
		}, 1, 0},
		"frames have no ids": {func(p *adaptertest.ThreadPlay) { p.NoIDs, p.Resume = true, adaptertest.ResumeAll }, 0, 1},
		"frames have no ids, and the stream breaks": {func(p *adaptertest.ThreadPlay) {
			p.NoIDs, p.Resume, p.CutAfter = true, adaptertest.ResumeAll, []int{8}
		}, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := playing(shortPlay(c.change))
			up := adaptertest.Upstream(adaptertest.Serve(t, a).URL)
			up.Config.StepTimeout = 5 * time.Second
			b, err := quick(up)
			if err != nil {
				t.Fatal(err)
			}
			tr := adaptertest.Collect(within(t), b, adaptertest.NewTask(nil), 0)
			if tr.Err != nil || tr.End() == nil || tr.End().Status != mapping.RunSuccess {
				t.Fatalf("error %v, end %+v", tr.Err, tr.End())
			}
			var nodes []string
			for _, ev := range tr.Outputs() {
				nodes = append(nodes, ev.Head.Node)
			}
			want := "plan think answer"
			if strings.HasSuffix(name, "breaks") {
				want = "plan think" // the following frames cannot be requested
			}
			if diff := cmp.Diff(want, strings.Join(nodes, " ")); diff != "" {
				t.Errorf("updates (-want +got):\n%s", diff)
			}
			if n := a.Calls(routeJoin); n != c.joins {
				t.Errorf("the stream was reopened %d times, want %d", n, c.joins)
			}
			if n := a.Calls(routeState); n < c.asked {
				t.Errorf("the state was requested %d times", n)
			}
			if n := a.Calls(routeCancel); n != 0 {
				t.Errorf("the run was cancelled %d times", n)
			}
		})
	}
}

// A process that takes over a run recognises frames that were already logged.
func TestRunTakenOverFromAServerThatRepeatsAllFrames(t *testing.T) {
	t.Parallel()
	for name, play := range map[string]adaptertest.ThreadPlay{
		"with checkpoints": adaptertest.ChatPlay(), "without": shortPlay(func(*adaptertest.ThreadPlay) {}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play.Resume = adaptertest.ResumeAll
			b := scripted(t, playing(play))
			whole := adaptertest.Collect(within(t), b, adaptertest.NewTask(nil), 0)
			for n := range whole.Events[:len(whole.Events)-1] {
				died := adaptertest.Trace{Events: whole.Events[:n]}
				if linkOf(died).RemoteRun == "" {
					continue
				}
				tr := adaptertest.Collect(within(t), b, again(died), 0)
				both := adaptertest.Trace{Events: append(append([]mapping.Event{}, died.Events...), tr.Events...)}
				if diff := cmp.Diff(outputs(whole), outputs(both)); diff != "" || tr.Err != nil {
					t.Errorf("died after event %d: error %v, outputs (-want +got):\n%s", n, tr.Err, diff)
				}
			}
		})
	}
}
