package inspect

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
)

// turnsOf reads turns such as "person: Hello".
func turnsOf(texts ...string) (list []turn) {
	for i, text := range texts {
		role, said, _ := strings.Cut(text, ": ")
		list = append(list, turn{ID: fmt.Sprint(time.Now(), i), Index: i, Role: role, Text: cut(said)})
	}
	return list
}

func TestTurnsArePairedByContentThenByRole(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		a, b []string
		want []string
	}{
		"nothing":   {nil, nil, nil},
		"the same":  {[]string{"person: x", "agent: y"}, []string{"person: x", "agent: y"}, []string{"same 0 0", "same 1 1"}},
		"an answer": {[]string{"person: x", "agent: y"}, []string{"person: x", "agent: z"}, []string{"same 0 0", "differs 1 1"}},
		"more in b": {[]string{"person: x", "agent: y"}, []string{"person: x", "agent: plan", "tool: found", "agent: y"},
			[]string{"same 0 0", "only_b - 1", "only_b - 2", "same 1 3"}},
		"less in b":        {[]string{"agent: 1", "agent: 2", "agent: 3"}, []string{"agent: 4"}, []string{"only_a 0 -", "only_a 1 -", "differs 2 0"}},
		"other roles":      {[]string{"person: x"}, []string{"agent: x"}, []string{"only_a 0 -", "only_b - 0"}},
		"the most alike":   {[]string{"agent: Plant ferns by the wall"}, []string{"agent: Ivy is strong", "agent: Plant ferns by the fence", "agent: Done"}, []string{"only_b - 0", "differs 0 1", "only_b - 2"}},
		"by order":         {[]string{"agent: I look for plants", "tool: fern", "agent: Ferns"}, []string{"agent: Your garden", "agent: I wrote it", "agent: Done"}, []string{"differs 0 0", "only_a 1 -", "only_b - 1", "differs 2 2"}},
		"before an anchor": {[]string{"agent: 1", "agent: end"}, []string{"agent: 2", "agent: 3", "agent: end"}, []string{"differs 0 0", "only_b - 1", "same 1 2"}},
	} {
		var got []string
		for _, p := range pairTurns(turnsOf(c.a...), turnsOf(c.b...)) {
			place := func(t *turn) string {
				if t == nil {
					return "-"
				}
				return fmt.Sprint(t.Index)
			}
			got = append(got, fmt.Sprintf("%s %s %s", p.Kind, place(p.A), place(p.B)))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A pair names what differs. Tool calls are compared by name and arguments, without their ids.
func TestPairsNameWhatDiffers(t *testing.T) {
	t.Parallel()
	call := func(id, name, args string) toolCall { return toolCall{id, name, cut(args)} }
	long := strings.Repeat("word ", 5000)
	for name, c := range map[string]struct {
		a, b  turn
		notes string
		calls string
	}{
		"ids":          {turn{ID: "1", Calls: []toolCall{call("1", "read", "{}")}}, turn{ID: "2", Calls: []toolCall{call("2", "read", "{}")}}, "[]", "[]"},
		"words":        {turn{Text: cut("one red")}, turn{Text: cut("two red")}, "[different words]", "[]"},
		"other texts":  {turn{Text: cut("one red.")}, turn{Text: cut("two.")}, "[a different text]", "[]"},
		"a long end":   {turn{Text: cut(long + "a")}, turn{Text: cut(long + "b")}, "[the texts differ after the part that is shown]", "[]"},
		"arguments":    {turn{Calls: []toolCall{call("1", "read", `{"a":1}`)}}, turn{Calls: []toolCall{call("1", "read", `{"a":2}`)}}, "[different tool calls]", "[differs]"},
		"another call": {turn{Calls: []toolCall{call("1", "read", `{}`)}}, turn{Calls: []toolCall{call("1", "look", `{}`), call("2", "read", `{}`)}}, "[different tool calls]", "[only_b same]"},
		"files":        {turn{Files: []fileLink{{Name: "a"}}}, turn{}, "[different files]", "[]"},
		"a failure":    {turn{Failure: true}, turn{}, "[a failure in only one run]", "[]"},
	} {
		list := pairTurns([]turn{c.a}, []turn{c.b})
		if len(list) != 1 || (list[0].Kind == inBoth) != (c.notes == "[]") {
			t.Fatalf("%s: %+v", name, list)
		}
		var calls []matchKind
		for _, p := range list[0].Calls {
			calls = append(calls, p.Kind)
		}
		if fmt.Sprint(list[0].Notes) != c.notes || fmt.Sprint(calls) != c.calls {
			t.Errorf("%s: %q and %v", name, list[0].Notes, calls)
		}
	}
}

// Fifty turns of 5,000 words each are paired within the bound of a page.
func TestPairsOfLongTurnsAreBounded(t *testing.T) {
	t.Parallel()
	var a, b []turn
	for n := range storyTurns {
		a = append(a, turn{Role: "agent", Text: cut(strings.Repeat(fmt.Sprint("red", n, " "), 5000))})
		b = append(b, turn{Role: "agent", Text: cut(strings.Repeat(fmt.Sprint("x blue", n, " "), 5000))})
	}
	begun, size := time.Now(), 0
	for _, p := range pairTurns(a, b) {
		for _, w := range p.Words {
			size += len(w.Text)
		}
	}
	if size > storyTurns*2*maxText || time.Since(begun) > 5*time.Second {
		t.Errorf("%d bytes after %s", size, time.Since(begun))
	}
}

// Steps are paired without the names and ids that each run chooses. Calls are paired by name.
func TestBarsArePairedByKindAndName(t *testing.T) {
	t.Parallel()
	a := []bar{
		{Kind: barWaiting, Name: "waiting", End: 1}, {Kind: barStep, Name: "step 1: plan", Begin: 1, End: 2}, {Kind: barCall, Name: "POST …/steps", Begin: 1, End: 2},
		{Kind: barStep, Name: "sub:1/inner", Begin: 2, End: 3}, {Kind: barStep, Name: "work", Begin: 3, End: 4}, {Kind: barRest, Name: "failed: x", Begin: 4, End: 5},
	}
	b := []bar{
		{Kind: barWaiting, Name: "waiting", End: 0.5}, {Kind: barCall, Name: "GET …/x", Begin: 0.5, End: 0.6}, {Kind: barCall, Name: "POST …/steps", Begin: 0.6, End: 2.6},
		{Kind: barStep, Name: "step 1: look", Begin: 0.5, End: 1.5}, {Kind: barStep, Name: "sub:2/inner", Begin: 1.5, End: 3},
	}
	var got []string
	for _, p := range pairBars(a, b) {
		got = append(got, fmt.Sprintf("%s %s %s", p.Kind, p.Name, p.Difference))
	}
	want := []string{
		"differs waiting 500 ms shorter", "only_b GET …/x ", "same step 1: plan the same", "differs POST …/steps 1.0 s longer", "differs sub:1/inner 500 ms longer",
		"only_a work ", "only_a failed: x ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A step that only one run has keeps its place between the others.
func TestPairedBarsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	step := func(name string, begin float64) bar { return bar{Kind: barStep, Name: name, Begin: begin} }
	swift, slow := []bar{step("plan", 0), step("answer", 1)}, []bar{step("plan", 0), step("check", 2), step("answer", 3)}
	for _, list := range [][]barPair{pairBars(swift, slow), pairBars(slow, swift)} {
		var got []string
		for _, p := range list {
			got = append(got, p.Name)
		}
		if diff := cmp.Diff([]string{"plan", "check", "answer"}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// Steps of runs that have no name in common are paired by their order.
func TestBarsWithoutCommonNamesArePairedByOrder(t *testing.T) {
	t.Parallel()
	a := []bar{{Kind: barStep, Name: "plan", End: 1}, {Kind: barStep, Name: "answer", Begin: 1, End: 2}}
	b := []bar{{Kind: barStep, Name: "step 1: think", End: 1}, {Kind: barStep, Name: "step 2: write", Begin: 1, End: 3}, {Kind: barStep, Name: "step 3: finish", Begin: 3, End: 4}}
	var got []string
	for _, p := range pairBars(a, b) {
		got = append(got, fmt.Sprintf("%s %s", p.Kind, p.Name))
	}
	if diff := cmp.Diff([]string{"same plan | step 1: think", "differs answer | step 2: write", "only_b step 3: finish"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestASentenceSaysHowRunsDiffer(t *testing.T) {
	t.Parallel()
	ended := func(status mapping.RunStatus, answer string, seconds float64, steps int) comparedRun {
		run := &mapping.Run{Status: status}
		c := comparedRun{Status: status, Timing: timing{Total: seconds}, Steps: &steps, run: run, view: runView{Status: status, Answer: textOrNil(answer)}}
		c.outcome = outcomeOf(&c.view, run)
		return c
	}
	success, failed, working := mapping.RunSuccess, mapping.RunError, mapping.RunRunning
	for want, pair := range map[string][2]comparedRun{
		"Both succeeded with the same answer. b was 800 ms faster, with 2 steps more.":           {ended(success, "x", 2.1, 1), ended(success, "x", 1.3, 3)},
		"Both succeeded with different answers. b was 1.5 s slower, with 1 step fewer.":          {ended(success, "x", 1, 2), ended(success, "y", 2.5, 1)},
		"Both succeeded. b was 50 ms slower.":                                                    {ended(success, "", 1, 2), ended(success, "", 1.05, 2)},
		"Both failed. Both took about the same time and the same number of steps.":               {ended(failed, "", 1, 0), ended(failed, "", 1.001, 0)},
		"a succeeded and b failed. b took 3 steps fewer.":                                        {ended(success, "x", 1, 3), ended(failed, "", 1, 0)},
		"a succeeded and b is working.":                                                          {ended(success, "x", 1, 3), ended(working, "", 1, 0)},
		"Both are working.":                                                                      {ended(working, "", 1, 0), ended(working, "", 1, 0)},
		"a stopped and b timed out. Both took about the same time and the same number of steps.": {ended(mapping.RunInterrupted, "", 1, 0), ended(mapping.RunTimeout, "", 1, 0)},
	} {
		if got := summaryOf(&pair[0], &pair[1]); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A difference that repeating a run can make is not marked.
func TestShortBarsAreAboutTheSame(t *testing.T) {
	t.Parallel()
	for want, lengths := range map[string][2]float64{
		"same the same": {0.0002, 0.0004}, "same about the same": {0.0004, 0.0006}, "differs 20 ms longer": {0.02, 0.04}, "differs 1.0 s shorter": {5, 4},
	} {
		p := pairBars([]bar{{Kind: barStep, Name: "x", End: lengths[0]}}, []bar{{Kind: barStep, Name: "x", End: lengths[1]}})[0]
		if got := fmt.Sprintf("%s %s", p.Kind, p.Difference); got != want {
			t.Errorf("%v: %s, want %s", lengths, got, want)
		}
	}
	if p := pairBars([]bar{{Kind: barStep, Name: "x", End: 600}}, []bar{{Kind: barStep, Name: "x", End: 601}})[0]; p.Kind != inBoth {
		t.Errorf("%+v", p)
	}
}

func runOfStory(s *story) comparedRun {
	s.Whole, s.first = s.More == 0, s.Bars
	return comparedRun{Steps: new(int), Whole: s.Whole, run: &mapping.Run{Status: mapping.RunSuccess}, view: runView{Story: s}}
}

// The messages of long runs are paired from the beginning. Those after the first difference are shown.
func TestLongRunsAreComparedFromTheBeginning(t *testing.T) {
	t.Parallel()
	var texts []string
	for n := range 200 {
		texts = append(texts, fmt.Sprint("agent: ", n))
	}
	failed := append(turnsOf(texts[:150]...), turn{Role: roleBridge, Text: cut("gone"), Failure: true})
	v := viewCompared(runOfStory(&story{all: turnsOf(texts...)}), runOfStory(&story{all: failed}))
	if want := "Of 201 messages, 150 are the same, 50 are only in a, 1 is only in b."; v.Counted != want {
		t.Errorf("%q, want %q", v.Counted, want)
	}
	if v.Before != 147 || v.A.Rest != 0 || v.B.Rest != 0 || len(v.Turns) != 54 || v.Turns[0].Kind != inBoth || v.Turns[0].A.Text.Text != "147" {
		t.Errorf("%d before %d and after: %d, %d", v.Before, len(v.Turns), v.A.Rest, v.B.Rest)
	}
	v = viewCompared(runOfStory(&story{all: turnsOf(texts...)}), runOfStory(&story{all: turnsOf("person: hi")}))
	if v.Before != 0 || v.A.Rest != 100 || v.B.Rest != 0 {
		t.Errorf("%d before, %d after", v.Before, v.A.Rest)
	}
	page := showCompared(t, v)
	if !strings.Contains(page, "100 later messages of run a are not compared") {
		t.Error(page)
	}
}

// Calls without a partner are shown, among them failed ones, even if the other run has none.
func TestComparisonShowsCallsOfOneRun(t *testing.T) {
	t.Parallel()
	call := func(name string, failed bool) bar {
		return bar{Kind: barCall, Name: name, Call: 1, End: 1, Failed: failed}
	}
	for name, c := range map[string]struct {
		a, b []bar
		want []string
		none string
	}{
		"not kept":      {[]bar{{Kind: barStep, Name: "x"}}, []bar{call("POST /runs", true)}, []string{"only_a x", "only_b POST /runs"}, "a"},
		"other names":   {[]bar{call("POST /steps", false)}, []bar{call("POST /runs", false)}, []string{"only_a POST /steps", "only_b POST /runs"}, ""},
		"none":          {[]bar{{Kind: barStep, Name: "x"}}, nil, []string{"only_a x"}, ""},
		"the same name": {[]bar{call("POST /runs", false)}, []bar{call("POST /runs", true)}, []string{"same POST /runs"}, ""},
	} {
		v := viewCompared(runOfStory(&story{Bars: c.a}), runOfStory(&story{Bars: c.b}))
		var got []string
		for _, p := range v.Bars {
			got = append(got, fmt.Sprintf("%s %s", p.Kind, p.Name))
		}
		if diff := cmp.Diff(c.want, got); diff != "" || v.NoCalls != c.none {
			t.Errorf("%s: no calls of %q (-want +got):\n%s", name, v.NoCalls, diff)
		}
		if page := showCompared(t, v); strings.Contains(page, "No calls of run "+c.none+" were kept") != (c.none != "") {
			t.Errorf("%s: %s", name, page)
		}
	}
}

// Steps that one run does not show, because it is long, are not reported as steps of the other run only.
func TestComparisonHasTheSameRangeOfSteps(t *testing.T) {
	t.Parallel()
	var long []bar
	for n := range 60 {
		long = append(long, bar{Kind: barStep, Name: fmt.Sprint("step ", n), Begin: float64(n), End: float64(n + 1)})
	}
	v := viewCompared(runOfStory(&story{Bars: long[:40], More: 20}), runOfStory(&story{Bars: append(long, bar{Kind: barRest, Name: "failed", Begin: 60})}))
	if n := len(v.Bars); n != 41 || v.Bars[39].Kind != inBoth || v.Bars[40].Name != "failed" {
		t.Errorf("%d pairs: %+v", n, v.Bars)
	}
	if page := showCompared(t, v); !strings.Contains(page, "Only the first steps and calls of run a are compared") {
		t.Error(page)
	}
}

func showCompared(t *testing.T, v compareView) string {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/inspect/compare", nil)
	r.Header.Set("Accept", "text/html")
	w := httptest.NewRecorder()
	if err := new(server).show(w, r, compareHTML, "Compare two runs", v); err != nil {
		t.Fatal(err)
	}
	return w.Body.String()
}
