package inspect

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
)

var compareHTML = newPage("compare", "runs", "turn.css", "run.css", "compare.css", "track.html", "words.html", "compare.js")

// compareView compares run b with run a.
type compareView struct {
	A       comparedRun `json:"a"`
	B       comparedRun `json:"b"`
	SameRun bool        `json:"same_run,omitempty"`
	Inputs  inputMatch  `json:"inputs"`
	Summary string      `json:"summary"`
	Later   string      `json:"-"` // how much later b was created
	Facts   []fact      `json:"facts"`
	Before  int         `json:"turns_before"` // equal turns that are left out before the first pair
	Turns   []turnPair  `json:"turns"`
	Counted string      `json:"turns_summary"`
	Bars    []barPair   `json:"bars"`
	Seconds float64     `json:"seconds"`            // length of the common time axis
	Most    int64       `json:"-"`                  // the largest number of tokens of a bar
	NoCalls string      `json:"no_calls,omitempty"` // the letter of the only run without calls, or ""
}

// comparedRun is one side of a comparison.
type comparedRun struct {
	Letter    string            `json:"-"`
	RunID     string            `json:"run_id"`
	ThreadID  string            `json:"thread_id"`
	Agent     string            `json:"agent"`
	Status    mapping.RunStatus `json:"status"`
	Parked    bool              `json:"parked,omitempty"`
	CreatedAt time.Time         `json:"created_at"`
	Request   string            `json:"request,omitempty"` // the beginning of the request in words
	Timing    timing            `json:"timing"`
	Steps     *int              `json:"steps,omitempty"`       // of an ended run; nil means unknown
	Usage     *usage            `json:"usage,omitempty"`       // nil means unknown
	Rest      int               `json:"turns_after,omitempty"` // turns that are left out after the last pair
	Whole     bool              `json:"whole"`                 // all of its bars are compared

	run     *mapping.Run
	view    runView
	outcome string
}

// fact is a row of the table of both runs.
type fact struct {
	Name       string `json:"name"`
	A          string `json:"a"`
	B          string `json:"b"`
	Difference string `json:"difference,omitempty"` // of b from a; "" if there is none
}

// inputMatch is the relation between the inputs of two runs.
type inputMatch string

const (
	sameInputs  inputMatch = "same"
	sameTexts   inputMatch = "same_text" // something besides the text differs
	otherInputs inputMatch = "different"
)

func (s *server) comparePage(w http.ResponseWriter, r *http.Request) error {
	var runs [2]comparedRun
	for i, name := range []string{"a", "b"} {
		id := strings.TrimSpace(r.URL.Query().Get(name))
		if id == "" {
			return mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "The parameter %s is missing. It is the id of one of the two runs to compare.", name)
		}
		run, err := s.readCompared(r.Context(), id)
		if isNotFound(err) {
			e := mapping.Classify(err)
			return mapping.Errorf(e.Class, e.Code, "Run %s was not found. %s", name, e.Message)
		}
		if err != nil {
			return err
		}
		runs[i] = run
		mapping.AddAuditObject(r.Context(), "run", run.RunID)
	}
	return s.show(w, r, compareHTML, "Compare two runs", viewCompared(runs[0], runs[1]))
}

func (s *server) readCompared(ctx context.Context, id string) (c comparedRun, err error) {
	a, err := newAxis(ctx, s.Service, nil, adapter.RunRef{RunID: id}, nil)
	if err != nil {
		return c, err
	}
	v, _, err := s.readRun(ctx, a, true)
	if err != nil {
		return c, err
	}
	c = comparedRun{
		RunID: v.RunID, ThreadID: v.ThreadID, Agent: v.Agent, Status: v.Status, Parked: v.Parked, CreatedAt: v.CreatedAt, Timing: v.Timing, Usage: v.Usage,
		Whole: v.Story.Whole && v.Story.More == 0, run: &a.run, view: v, outcome: outcomeOf(&v, &a.run),
	}
	if v.Request != nil {
		c.Request = v.Title()
	}
	if v.EndedAt != nil {
		c.Steps = &a.run.Totals.Steps
	}
	return c, nil
}

// Active reports whether the run may still change.
func (c comparedRun) Active() bool { return c.Status.Active() }

const (
	comparedTurns = 100 // of each run, from the first that is not the same in both
	equalTurns    = 3   // before that one, if there are many
)

func viewCompared(a, b comparedRun) compareView {
	a.Letter, b.Letter = "a", "b"
	x, y := a.view.Story.all, b.view.Story.all
	before := 0
	if max(len(x), len(y)) > comparedTurns {
		for before < min(len(x), len(y)) && sameTurn(x[before], y[before]) {
			before++
		}
		before = max(0, before-equalTurns)
		x, y = x[before:], y[before:]
	}
	a.Rest, b.Rest = max(0, len(x)-comparedTurns), max(0, len(y)-comparedTurns)
	v := compareView{
		A: a, B: b, SameRun: a.RunID == b.RunID, Inputs: matchInputs(a.run, b.run), Summary: summaryOf(&a, &b), Facts: factsOf(&a, &b),
		Before: before, Turns: pairTurns(x[:len(x)-a.Rest], y[:len(y)-b.Rest]),
		Seconds: max(a.Timing.Total, b.Timing.Total), Most: max(mostTokens(a.view.Story.first), mostTokens(b.view.Story.first)),
	}
	if d := b.CreatedAt.Sub(a.CreatedAt); d >= time.Millisecond {
		v.Later = mapping.Span(d) + " later"
	} else if d <= -time.Millisecond {
		v.Later = mapping.Span(-d) + " earlier"
	}
	v.Counted = countTurns(v.Turns, before)
	bars, others := a.view.Story.first, b.view.Story.first
	switch calls, also := slices.ContainsFunc(bars, isCall), slices.ContainsFunc(others, isCall); {
	case also && !calls:
		v.NoCalls = "a"
	case calls && !also:
		v.NoCalls = "b"
	}
	v.Bars = pairBars(limitBars(bars, others, b.Whole), limitBars(others, bars, a.Whole))
	return v
}

func isCall(b bar) bool { return b.Kind == barCall }

// limitBars returns the bars of a run that can be paired. If the other run is incomplete, it returns only as many steps and
// calls as the other run has.
func limitBars(list, other []bar, whole bool) []bar {
	if whole {
		return list
	}
	room := map[barKind]int{barWaiting: len(list), barRest: len(list)}
	for _, b := range other {
		room[b.Kind]++
	}
	return slices.DeleteFunc(slices.Clone(list), func(b bar) bool {
		room[b.Kind]--
		return room[b.Kind] < 0
	})
}

func matchInputs(a, b *mapping.Run) inputMatch {
	x, y := rule.RequestText(a.Kwargs), rule.RequestText(b.Kwargs)
	switch in, other := givenInput(a), givenInput(b); {
	case x != y:
		return otherInputs
	case len(in) == 0 && len(other) == 0, len(in) > 0 && len(other) > 0 && rawjson.Equal(in, other):
		return sameInputs
	}
	return sameTexts
}

// summaryOf returns one or two sentences about the difference of b from a.
func summaryOf(a, b *comparedRun) string {
	said := fmt.Sprintf("a %s and b %s", a.outcome, b.outcome)
	if a.outcome == b.outcome {
		said = "Both " + plural(a.outcome)
		if x, y := a.view.Answer, b.view.Answer; x != nil && y != nil && a.Status == mapping.RunSuccess {
			if *x == *y {
				said += " with the same answer"
			} else {
				said += " with different answers"
			}
		}
	}
	if a.Active() || b.Active() {
		return said + "."
	}
	steps := ""
	if n, word := moreSteps(*a.Steps, *b.Steps); n > 0 {
		steps = counted(n, "step") + " " + word
	}
	switch same := sameTime(a.Timing.Total, b.Timing.Total); {
	case same && steps == "":
		return said + ". Both took about the same time and the same number of steps."
	case same:
		return said + ". b took " + steps + "."
	}
	said += ". b was " + moreTime(a.Timing.Total, b.Timing.Total, "slower", "faster")
	if steps != "" {
		said += ", with " + steps
	}
	return said + "."
}

func plural(outcome string) string {
	for one, many := range map[string]string{"is ": "are ", "was ": "were "} {
		if rest, ok := strings.CutPrefix(outcome, one); ok {
			return many + rest
		}
	}
	return outcome
}

// moreSteps returns how many steps b has more than a, with a word for the direction.
func moreSteps(a, b int) (n int, word string) {
	if a > b {
		return a - b, "fewer"
	}
	return b - a, "more"
}

// counted returns a number with its noun.
func counted(n int, noun string) string {
	return fmt.Sprintf("%d %s", n, nounFor(n, noun))
}

// nounFor returns a noun in the form for a number.
func nounFor(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

// milliseconds returns a time in seconds as the pages show it.
func milliseconds(seconds float64) float64 { return math.Round(1000 * seconds) }

// sameTime reports whether two times in seconds differ by no more than two executions of the same run may.
func sameTime(a, b float64) bool { return math.Abs(a-b) < max(0.005, 0.02*max(a, b)) }

// moreTime returns how much longer b is than a, in seconds, with a word for the direction.
func moreTime(a, b float64, more, less string) string {
	switch d := (milliseconds(b) - milliseconds(a)) / 1000; {
	case d == 0:
		return "the same"
	case sameTime(a, b):
		return "about the same"
	case d > 0:
		return spanOf(d) + " " + more
	default:
		return spanOf(-d) + " " + less
	}
}

// factsOf returns the rows of the table except for the times of creation, which a page shows in its own form. Numbers of
// an active run are not compared, because they still grow.
func factsOf(a, b *comparedRun) []fact {
	ended := !a.Active() && !b.Active()
	list := []fact{}
	add := func(name, x, y, difference string) {
		if x != "" || y != "" {
			list = append(list, fact{name, cmp.Or(x, "–"), cmp.Or(y, "–"), difference})
		}
	}
	text := func(name, x, y string) {
		if x == y {
			add(name, x, y, "")
		} else {
			add(name, x, y, "different")
		}
	}
	text("Request", a.Request, b.Request)
	text("Agent", a.Agent, b.Agent)
	text("Status", statusText(a), statusText(b))
	text("Error", faultText(a), faultText(b))
	answer := ""
	if x, y := a.view.Answer, b.view.Answer; x != nil && y != nil && *x != *y {
		answer = "different"
	}
	add("Answer", answerText(a), answerText(b), answer)
	if a.run.Base != b.run.Base && (a.run.Base == "" || b.run.Base == "" || a.ThreadID == b.ThreadID) {
		text("Started from", startText(a), startText(b))
	}
	took := ""
	if ended && !sameTime(a.Timing.Total, b.Timing.Total) {
		took = moreTime(a.Timing.Total, b.Timing.Total, "slower", "faster")
	}
	add("Duration", spanOf(a.Timing.Total), spanOf(b.Timing.Total), took)
	x, y, took := "", "", ""
	if a.Timing.Known {
		x = spanOf(a.Timing.Agent)
	}
	if b.Timing.Known {
		y = spanOf(b.Timing.Agent)
	}
	if ended && x != "" && y != "" && !sameTime(a.Timing.Agent, b.Timing.Agent) {
		took = moreTime(a.Timing.Agent, b.Timing.Agent, "more", "less")
	}
	add("Agent’s time", x, y, took)
	x, y, steps := "", "", ""
	if a.Steps != nil {
		x = fmt.Sprint(*a.Steps)
	}
	if b.Steps != nil {
		y = fmt.Sprint(*b.Steps)
	}
	if ended && x != y {
		n, word := moreSteps(*a.Steps, *b.Steps)
		steps = fmt.Sprintf("%d %s %s", n, word, nounFor(n, "step"))
	}
	add("Steps", x, y, steps)
	x, y = tokensText(a.Usage), tokensText(b.Usage)
	tokens := ""
	if x != "" && y != "" {
		if n := b.Usage.Tokens() - a.Usage.Tokens(); n > 0 {
			tokens = "+" + thousands(n) + " tokens"
		} else if n < 0 {
			tokens = "−" + thousands(-n) + " tokens"
		}
	}
	add("Tokens", x, y, tokens)
	x, y = costText(a.Usage), costText(b.Usage)
	cost := ""
	if x != "" && y != "" {
		if d := b.Usage.Cost - a.Usage.Cost; d > 0 {
			cost = dollars(d) + " more"
		} else if d < 0 {
			cost = dollars(-d) + " less"
		}
	}
	add("Cost", x, y, cost)
	return list
}

func statusText(c *comparedRun) string {
	if c.Parked {
		return string(c.Status) + ", parked"
	}
	return string(c.Status)
}

func faultText(c *comparedRun) string {
	if c.view.Fault == nil {
		return ""
	}
	return causeOf(c.Agent, c.view.Fault)
}

func answerText(c *comparedRun) string {
	if c.view.Answer == nil {
		return ""
	}
	return line(c.view.Answer.Text)
}

func startText(c *comparedRun) string {
	if c.run.Base == "" {
		return "an empty thread"
	}
	return "checkpoint " + shortID(c.run.Base)
}

func tokensText(u *usage) string {
	if u == nil || u.Tokens() == 0 {
		return ""
	}
	return thousands(u.Input) + " in, " + thousands(u.Output) + " out"
}

func costText(u *usage) string {
	if u == nil {
		return ""
	}
	return u.Dollars()
}

// countTurns returns one sentence about the pairs of turns, and the equal turns before them.
func countTurns(list []turnPair, before int) string {
	n, all := map[matchKind]int{inBoth: before}, before+len(list)
	for _, p := range list {
		n[p.Kind]++
	}
	switch n[inBoth] {
	case 0:
		if all == 0 {
			return "Neither run has messages."
		}
	case all:
		return "All messages are the same."
	}
	parts := []string{}
	for _, one := range []struct {
		kind      matchKind
		one, many string
	}{{inBoth, "is the same", "are the same"}, {differs, "differs", "differ"}, {onlyA, "is only in a", "are only in a"}, {onlyB, "is only in b", "are only in b"}} {
		switch n[one.kind] {
		case 0:
		case 1:
			parts = append(parts, "1 "+one.one)
		default:
			parts = append(parts, fmt.Sprintf("%d %s", n[one.kind], one.many))
		}
	}
	return "Of " + counted(all, "message") + ", " + strings.Join(parts, ", ") + "."
}

// otherRun is a run with which a page offers to compare its own.
type otherRun struct {
	RunID     string            `json:"run_id"`
	Agent     string            `json:"agent"`
	Status    mapping.RunStatus `json:"status"`
	CreatedAt time.Time         `json:"created_at"`
	Reason    string            `json:"reason"`
	Query     string            `json:"-"` // of the comparison, the older run first
}

const (
	maxOthers = 5 // for each reason
	// searchedRuns is the number of newest runs among which those with the same request are searched.
	searchedRuns = 100
	// searchBudget bounds the time for runs beyond searchedLeast, since requests may be large.
	searchBudget  = 50 * time.Millisecond
	searchedLeast = 20
)

// listOthers returns the newest runs with the same request as a run, and the newest others of its thread.
func (s *server) listOthers(ctx context.Context, run *mapping.Run) (list []otherRun, err error) {
	seen := map[string]bool{run.ID: true}
	until := time.Now().Add(searchBudget)
	offer := func(q mapping.RunQuery, reason func(r *mapping.Run) string) error {
		found, read := 0, 0
		for r, err := range s.Service.ListRuns(ctx, q) {
			if read++; err != nil || found == maxOthers || read > searchedLeast && time.Now().After(until) {
				return err
			}
			why := reason(&r)
			if why == "" || seen[r.ID] {
				continue
			}
			older, newer := run, &r
			if r.CreatedAt.Before(run.CreatedAt) {
				older, newer = &r, run
			}
			seen[r.ID] = true
			found++
			list = append(list, otherRun{r.ID, r.Agent, r.Status, r.CreatedAt, why, compareQuery(older.ID, newer.ID)})
		}
		return nil
	}
	text := rule.RequestText(run.Kwargs)
	err = offer(mapping.RunQuery{Limit: searchedRuns}, func(r *mapping.Run) string {
		switch {
		case r.Options.Repeats == run.ID:
			return "repeats this run"
		case r.ID == run.Options.Repeats:
			return "is repeated by this run"
		case text != "" && rule.RequestText(r.Kwargs) == text:
			return "has the same request"
		}
		return ""
	})
	if err != nil {
		return list, err
	}
	err = offer(mapping.RunQuery{ThreadID: run.ThreadID, Limit: 2*maxOthers + 1}, func(*mapping.Run) string { return "is on the same thread" })
	return list, err
}

func compareQuery(a, b string) string { return "?" + url.Values{"a": {a}, "b": {b}}.Encode() }
