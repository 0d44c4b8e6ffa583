package inspect

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/google/go-cmp/cmp"
)

func TestASentenceSaysHowARunWent(t *testing.T) {
	t.Parallel()
	whole := timing{Total: 2.1, Waiting: 0.1, Agent: 1.9, Known: true}
	question := []mapping.Interrupt{{Value: json.RawMessage(`"Which day?"`)}}
	for want, c := range map[string]struct {
		reader storyReader
		view   runView
	}{
		"Succeeded after 3 steps in 2.1 s; the agent took 1.9 s.":         {storyReader{steps: 3, whole: true}, runView{Status: mapping.RunSuccess, Timing: whole}},
		"Succeeded in 2.1 s; the agent took 1.9 s.":                       {storyReader{steps: 3}, runView{Status: mapping.RunSuccess, Timing: whole}},
		"Failed after 1 step in 2.1 s: out of memory.":                    {storyReader{steps: 1, whole: true}, runView{Status: mapping.RunError, Fault: &mapping.Fault{Message: "out of memory."}, Timing: timing{Total: 2.1}}},
		"Failed after 1 step in 2.1 s.":                                   {storyReader{steps: 1, whole: true}, runView{Status: mapping.RunError, Timing: timing{Total: 2.1}}},
		"Timed out before its first step in 2.1 s; the agent took 1.9 s.": {storyReader{whole: true}, runView{Status: mapping.RunTimeout, Timing: whole}},
		"Asked a question after 1 step in 8 ms.":                          {storyReader{steps: 1, whole: true}, runView{Status: mapping.RunInterrupted, Questions: question, Timing: timing{Total: 0.0079}}},
		"Asked 2 questions after 1 step in 8 ms.":                         {storyReader{steps: 1, whole: true}, runView{Status: mapping.RunInterrupted, Questions: append(question, question...), Timing: timing{Total: 0.008}}},
		"Was cancelled after 1 step in 2.1 s; the agent took 1.9 s.":      {storyReader{steps: 1, whole: true, run: &mapping.Run{CancelReason: mapping.CancelledByRequest}}, runView{Status: mapping.RunInterrupted, Timing: whole}},
		"Stopped after 2 steps in 2.1 s; the agent took 1.9 s.":           {storyReader{steps: 2, whole: true}, runView{Status: mapping.RunInterrupted, Timing: whole}},
		"Working for 2.0 s, 2 steps so far.":                              {storyReader{steps: 2, whole: true}, runView{Status: mapping.RunRunning, Timing: whole}},
		"Waiting to start for 100 ms.":                                    {storyReader{}, runView{Status: mapping.RunPending, Timing: whole}},
		"Waiting until a client requests the next step.":                  {storyReader{}, runView{Status: mapping.RunRunning, Parked: true, Timing: whole}},
	} {
		if c.reader.run == nil {
			c.reader.run = &mapping.Run{}
		}
		if got := c.reader.summary(&c.view); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// The cause of a failure is short. Where it was and what to do is below on the page.
func TestCausesAreShort(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		`The agent "a" at 127.0.0.1:9 cannot be reached: nothing is listening there (connection refused); check that the agent is running.`: "connection refused by agent a",
		`The agent "a" at h cannot be reached: its host name is not known on this machine; check the spelling and the name servers.`:        "the agent's host name is not known on this machine",
		`The agent "a" at h cannot be reached: it did not answer in time; check whether it is busy.`:                                        "the agent did not answer in time",
		`The agent "a" at h cannot be reached: there is no network route to its host.`:                                                      "there is no network route to the agent's host",
		`Agent "a" at h answered 500: ModelError: no answer.`:                                                                               "the agent answered 500, “ModelError: no answer”",
		`Agent "a" at h answered 503: it is overloaded. Try again later.`:                                                                   "the agent answered 503 because it is overloaded",
		`Agent "a" at h answered 500.`: "the agent answered 500",
		`The agent "a" at h no longer knows the task "t"; it was probably restarted. Start a new run.`:       `the agent no longer knows the task "t"; it was probably restarted`,
		"Traceback (most recent call last):\n  File \"a. py\", line 1\nValueError: no.":                      "ValueError: no.",
		"Agent \"a\" at h answered 500: Traceback (most recent call last):\n  File \"a.py\"\nKeyError: 'x'.": "the agent answered 500, “KeyError: 'x'”",
		`Agent "a" .`:                                "the agent ",
		`Agent "a" über alles.`:                      "the agent über alles",
		`The database cannot be reached: it is down`: "The database cannot be reached: it is down",
		``: "",
	} {
		if got := causeOf("a", &mapping.Fault{Message: message}); got != want {
			t.Errorf("%s\nis shown as %s\nwant        %s", message, got, want)
		}
	}
}

// A step begins when the one before it ended, at its own depth. Updates of the bridge are no steps.
func TestBarsShareOneAxis(t *testing.T) {
	t.Parallel()
	at := func(ms int) time.Time { return time.UnixMilli(int64(1000 + ms)) }
	run := &mapping.Run{CreatedAt: at(0), StartedAt: at(10), Status: mapping.RunError, Fault: &mapping.Fault{Code: "agent_failed"}}
	r := &storyReader{run: run, whole: true, last: map[string]float64{}}
	for _, ev := range []mapping.Event{
		{Kind: mapping.KindStarted, At: at(10)},
		{Kind: mapping.KindUpdate, Seq: 2, At: at(30), Head: mapping.Head{Node: "plan"}, Data: []byte(`{"messages":[{"type":"ai","usage_metadata":{"input_tokens":3,"output_tokens":1}}]}`)},
		{Kind: mapping.KindUpdate, Seq: 3, At: at(40), Head: mapping.Head{Node: "inner", NS: []string{"sub:1"}}},
		{Kind: mapping.KindDelta, Seq: 4, At: at(45)},
		{Kind: mapping.KindUpdate, Seq: 5, At: at(50), Head: mapping.Head{Node: "sub"}, Data: []byte(`{"messages":[{"id":"m"},{"id":"gone"}]}`)},
		{Kind: mapping.KindUpdate, Seq: 6, At: at(60), Head: mapping.Head{Node: "step", Reduce: true}},
		{Kind: mapping.KindEnd, Seq: 7, At: at(60)},
	} {
		r.add(&state.Entry{Event: ev})
	}
	calls := []adapter.AgentCall{{N: 1, At: at(12), Took: 40 * time.Millisecond, Method: "POST", URL: "http://agent/runs/stream?x=1", Status: 500}}
	got := r.waterfall(timing{Total: 0.06, Waiting: 0.01}, calls)
	want := []bar{
		{Kind: barWaiting, Name: "waiting", End: 0.01},
		{Kind: barStep, Name: "plan", Seq: 2, Begin: 0.01, End: 0.03, Usage: &usage{Input: 3, Output: 1}, IDs: []string{""}},
		{Kind: barCall, Name: "POST …/stream", Call: 1, Begin: 0.012, End: 0.052, Failed: true},
		{Kind: barStep, Name: "sub:1/inner", Seq: 3, Begin: 0.03, End: 0.04},
		{Kind: barStep, Name: "sub", Seq: 5, Begin: 0.03, End: 0.05, IDs: []string{"m", "gone"}},
		{Kind: barRest, Name: "end of the run", Begin: 0.052, End: 0.06},
	}
	if diff := cmp.Diff(want, got); diff != "" || r.steps != 2 {
		t.Errorf("%d steps (-want +got):\n%s", r.steps, diff)
	}
	got = r.waterfall(timing{Total: 0.06, Waiting: 0.01}, nil)
	if failed := (bar{Kind: barRest, Name: "failed", Begin: 0.06, End: 0.06, Failed: true}); !cmp.Equal(got[len(got)-1], failed) {
		t.Errorf("without calls the failure is %+v", got[len(got)-1])
	}
}

// A long run keeps its failures and its end, which are also in its conversation.
func TestLongRunShowsItsFailures(t *testing.T) {
	t.Parallel()
	for _, whole := range []bool{true, false} {
		run := &mapping.Run{Status: mapping.RunError, Fault: &mapping.Fault{Code: "agent_failed"}}
		r := &storyReader{run: run, whole: whole}
		for n := range 3 * storyBars {
			r.bars = append(r.bars, bar{Kind: barStep, Begin: float64(n), End: float64(n + 1), Failed: n == 7 && whole})
		}
		all := r.waterfall(timing{Total: 3 * storyBars}, nil)
		got, first := lastBars(all), firstBars(all)
		last := got[len(got)-1]
		if whole {
			if got[0].Begin != 7 || last.Begin != 3*storyBars-1 || len(got) != storyBars {
				t.Errorf("%d bars from %+v to %+v", len(got), got[0], last)
			}
			if len(first) != storyBars || first[0].Begin != 0 || first[storyBars-1].Begin != storyBars-1 {
				t.Errorf("the first %d bars are from %+v", len(first), first[0])
			}
		} else if !last.Failed || len(got) != storyBars || !first[len(first)-1].Failed {
			t.Errorf("%d bars; the last of a run that was not read to its end is %+v", len(got), last)
		}
		for i := range r.bars {
			r.bars[i].Failed = true
		}
		if got = lastBars(r.waterfall(timing{Total: 3 * storyBars}, nil)); len(got) != storyBars {
			t.Errorf("%d failed bars", len(got))
		}
	}
}

// A bar knows the turns that came from it. A call that only reads made none.
func TestTurnsComeFromStepsAndTheirCalls(t *testing.T) {
	t.Parallel()
	st := story{
		Turns: []turn{{Role: "person"}, {ID: "1"}, {ID: "2"}},
		Bars: []bar{
			{Kind: barCall, Begin: 0, End: 1}, {Kind: barStep, Begin: 0, End: 1, IDs: []string{"", "1"}}, {Kind: barCall, Begin: 1.5, End: 3},
			{Kind: barCall, Begin: 2, End: 3, Reads: true}, {Kind: barStep, Begin: 1, End: 3, IDs: []string{"2", "gone"}}, {Kind: barCall, Begin: 4, End: 5}, {Kind: barRest},
		},
	}
	st.connect()
	var got [][]int
	for _, b := range st.Bars {
		got = append(got, b.Turns)
	}
	if diff := cmp.Diff([][]int{{1}, {1}, {2}, nil, {2}, nil, nil}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The conversation of a run has what the run added, its answer first and its question last.
func TestAConversationIsTheRunsOwn(t *testing.T) {
	t.Parallel()
	fold := func(values string) *state.Fold {
		f, err := state.NewFold(json.RawMessage(values))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	asked := []mapping.Interrupt{{Value: json.RawMessage(`{"question":"Which colour?"}`)}}
	open := []mapping.Interrupt{{ID: "q", Value: json.RawMessage(`"Which size?"`)}}
	const old, changed = `{"id":"1","type":"human","content":"Paint"}`, `{"id":"2","type":"ai","content":"I paint"}`
	r := storyReader{
		run:    &mapping.Run{Options: mapping.RunOptions{Resuming: true, Asked: asked}},
		before: fold(`{"messages":[` + old + `,{"id":"2","type":"ai","content":"I"}]}`),
		after:  fold(`{"messages":[` + old + `,` + changed + `,{"id":"3","type":"tool","tool_call_id":"c","content":"done"}]}`),
	}
	got := r.turns(&runView{Request: &cutText{Text: "Red"}, Questions: open})
	want := []turn{
		{Role: "agent", Text: cutText{Text: "Which colour?"}, Asks: true},
		{Role: "person", Text: cutText{Text: "Red"}},
		{ID: "2", Role: "agent", Text: cutText{Text: "I paint"}},
		{ID: "3", Role: "tool", Text: cutText{Text: "done"}, Answers: "c"},
		{Role: "agent", Text: cutText{Text: "Which size?"}, Asks: true, Question: "q"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	r = storyReader{run: &mapping.Run{}, after: fold(`{"messages":[` + old + `,{"id":"2","type":"ai","content":"Which size?"}]}`)}
	got = r.turns(&runView{Request: &cutText{Text: "Paint"}, Questions: open})
	want = []turn{{ID: "1", Role: "person", Text: cutText{Text: "Paint"}}, {ID: "2", Role: "agent", Text: cutText{Text: "Which size?"}, Asks: true, Question: "q"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a question that is the last message (-want +got):\n%s", diff)
	}
	r = storyReader{run: &mapping.Run{}}
	if got := r.turns(&runView{}); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

// The legend has the colours of the bars. The reason for missing calls is given when the run has ended.
func TestLegendAndMissingCalls(t *testing.T) {
	t.Parallel()
	st := story{Bars: []bar{{Kind: barWaiting}, {Kind: barStep, Failed: true}, {Kind: barCall}}}
	if st.Has("step") || !st.Has("call") || !st.Has("failed") {
		t.Errorf("step %t, call %t, failed %t", st.Has("step"), st.Has("call"), st.Has("failed"))
	}
	for _, c := range []struct {
		view runView
		want string // a part
	}{
		{runView{Capture: "off", Status: mapping.RunRunning}, "inspector.capture: off"},
		{runView{Capture: "all", Status: mapping.RunRunning}, ""},
		{runView{Capture: "all", Status: mapping.RunSuccess, Calls: []*callLine{{N: 1}}}, ""},
		{runView{Capture: "errors", Status: mapping.RunSuccess}, "inspector.capture: errors"},
		{runView{Capture: "errors", Status: mapping.RunError, Fault: &mapping.Fault{}}, "for this run"},
		{runView{Capture: "all", Status: mapping.RunSuccess}, "for this run"},
	} {
		if got := whyNoCalls(&c.view); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s, %s: %q, want %q", c.view.Capture, c.view.Status, got, c.want)
		}
	}
}

// A call is named by the last part of its path that is no id.
func TestNameOfACall(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"http://a/ap/v1/agent/tasks": "GET …/tasks", "http://a/tasks/7f3e/steps/": "GET …/steps", "http://a": "GET /",
		"http://a/v1/artifacts/TYQVZGNQPFB2SC7H3YQ5D4KXWA": "GET …/artifacts/…", "http://a/artifacts/TYQVZGNQPFB2SC7H3YQ5D4KXWA": "GET /artifacts/…",
	} {
		if got := nameOfCall(&callLine{Method: "GET", URL: url}); got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
}
