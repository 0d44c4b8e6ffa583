package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
)

// story is a run as a person reads it: a sentence, the conversation and a waterfall.
type story struct {
	Summary string  `json:"summary"`
	Turns   []turn  `json:"turns"`
	Earlier int     `json:"earlier,omitempty"` // turns that are left out before the first
	Bars    []bar   `json:"bars"`
	More    int     `json:"more_bars,omitempty"` // bars that are left out before the others, none of which failed if there is room
	Seconds float64 `json:"seconds"`             // length of the time axis
	Whole   bool    `json:"whole"`               // all events of the run were read
	Last    int64   `json:"last"`                // the last event that was read

	Artifacts []string `json:"-"` // named by its events

	// For comparisons, which begin at the start of a run: all turns, and the first bars with the later ones that failed.
	all   []turn
	first []bar
}

const (
	storyEvents = 1000 // that are read of one run
	storyTurns  = 50
	storyBars   = 100
	// storyBudget bounds the time for the events beyond storyLeast, so that the page of a long run appears soon.
	storyBudget = 20 * time.Millisecond
	storyLeast  = 200
)

// bar is a part of a run's time, in seconds since its creation.
type bar struct {
	Kind   barKind  `json:"kind"`
	Name   string   `json:"name"`
	Seq    int64    `json:"seq,omitempty"`  // of the event that ends a step
	Call   int64    `json:"call,omitempty"` // number of the call
	Begin  float64  `json:"begin_seconds"`
	End    float64  `json:"end_seconds"`
	Failed bool     `json:"failed,omitempty"`
	Usage  *usage   `json:"usage,omitempty"`
	Turns  []int    `json:"turns,omitempty"` // the turns that came from it, by their places in the story
	IDs    []string `json:"-"`               // of the messages of a step
	Reads  bool     `json:"-"`               // a call that only reads
}

type barKind string

const (
	barWaiting barKind = "waiting" // before the run started
	barStep    barKind = "step"    // from the step before it
	barCall    barKind = "call"    // of the agent
	barRest    barKind = "rest"    // from the last step to now, or a failure and the bridge's work after it
)

// Length returns the length of the bar in seconds.
func (b bar) Length() float64 { return max(0, b.End-b.Begin) }

// storyReader collects the events of a run.
type storyReader struct {
	run    *mapping.Run
	steps  int
	bars   []bar
	before *state.Fold // the state before the run; nil if nothing was read
	after  *state.Fold // the newest state
	last   map[string]float64
	newest float64 // when the newest step ended, or the run started
	whole  bool
	count  int
	seq    int64    // of the last event
	named  []string // ids of artifacts
}

func (r *storyReader) since(at time.Time) float64 { return max(0, at.Sub(r.run.CreatedAt).Seconds()) }

func (r *storyReader) add(e *state.Entry) {
	if r.before == nil {
		r.before = e.Before
	}
	r.after = cmp.Or(e.After, r.after)
	at := r.since(e.At)
	if e.Kind == mapping.KindStarted {
		r.newest, r.last = at, map[string]float64{}
	}
	if e.Kind != mapping.KindUpdate || e.Head.Reduce && e.Head.Step == nil {
		return
	}
	if rule.IsStep(&e.Event) {
		r.steps++
	}
	within := strings.Join(e.Head.NS, "/")
	begin, known := r.last[within]
	if !known {
		begin = r.newest
	}
	b := bar{Kind: barStep, Name: r.nameOf(&e.Event), Seq: e.Seq, Begin: begin, End: at, Usage: usageOf(&e.Event)}
	for _, m := range messagesIn(e.Data) {
		b.IDs = append(b.IDs, rawjson.GetText(m, "id"))
	}
	if e.Head.Step != nil {
		b.Failed = e.Head.Step.Status == "failed"
	}
	r.bars = append(r.bars, b)
	r.last[within], r.newest = at, at
}

func (r *storyReader) nameOf(ev *mapping.Event) string {
	if s := ev.Head.Step; s != nil {
		name := fmt.Sprintf("step %d", r.steps)
		if s.Name != "" {
			name += ": " + cutRunes(s.Name, 60)
		}
		return name
	}
	return cutRunes(strings.Join(append(slices.Clone(ev.Head.NS), ev.Head.Node), "/"), 80)
}

// readStory reads a run. v has everything else of its page, and end the state at its end, or nil.
func (s *server) readStory(ctx context.Context, a *axis, v *runView, calls []adapter.AgentCall, end *state.Fold) (*story, error) {
	r := &storyReader{run: &a.run, whole: true, last: map[string]float64{}}
	until := time.Now().Add(storyBudget)
	err := a.read(ctx, a.run.ID, fromStart, func(e *state.Entry) bool {
		if r.count++; r.count > storyEvents || r.count > storyLeast && time.Now().After(until) {
			r.whole = false
			return false
		}
		r.add(e)
		r.seq, r.named = e.Seq, append(r.named, e.Head.Artifacts...)
		return true
	})
	if err != nil {
		return nil, err
	}
	if end != nil {
		r.after = end
	}
	st := &story{Seconds: v.Timing.Total, Whole: r.whole, Last: r.seq, Artifacts: r.named}
	st.all = r.turns(v)
	st.Earlier = max(0, len(st.all)-storyTurns)
	st.Turns = st.all[st.Earlier:]
	bars := r.waterfall(v.Timing, calls)
	st.first = firstBars(bars)
	st.Bars = lastBars(bars)
	st.More = len(bars) - len(st.Bars)
	st.connect()
	st.Summary = r.summary(v)
	return st, nil
}

// connect finds the turns that came from each bar. A step made its messages, in the last call that began before the step
// ended and does not only read.
func (st *story) connect() {
	at := map[string]int{}
	for i, t := range st.Turns {
		if t.ID != "" {
			at[t.ID] = i
		}
	}
	for i := range st.Bars {
		step := &st.Bars[i]
		for _, id := range step.IDs {
			if n, ok := at[id]; ok {
				step.Turns = append(step.Turns, n)
			}
		}
		if call := st.callOf(step); call != nil {
			call.Turns = append(call.Turns, step.Turns...)
		}
	}
}

func (st *story) callOf(step *bar) (call *bar) {
	for i := range st.Bars {
		b := &st.Bars[i]
		if step.Kind == barStep && b.Kind == barCall && !b.Reads && b.Begin <= step.End && (call == nil || b.Begin >= call.Begin) {
			call = b
		}
	}
	return call
}

// colour returns the name of the bar's colour in the legend.
func (b bar) colour() string {
	if b.Failed {
		return "failed"
	}
	return string(b.Kind)
}

// Has reports whether a bar has a colour of the legend.
func (st *story) Has(colour string) bool {
	return slices.ContainsFunc(st.Bars, func(b bar) bool { return b.colour() == colour })
}

// MostTokens returns the largest number of tokens of a bar.
func (st *story) MostTokens() int64 { return mostTokens(st.Bars) }

func mostTokens(bars []bar) (most int64) {
	for _, b := range bars {
		if b.Usage != nil {
			most = max(most, b.Usage.Tokens())
		}
	}
	return most
}

// waterfall returns all bars in the order in which they begin.
func (r *storyReader) waterfall(t timing, calls []adapter.AgentCall) (list []bar) {
	if t.Waiting >= 0.001 || r.run.StartedAt.IsZero() && r.run.Status.Active() {
		list = append(list, bar{Kind: barWaiting, Name: "waiting", End: t.Waiting})
	}
	list = append(list, r.bars...)
	for i := range calls {
		c := lineOfCall(&calls[i])
		list = append(list, bar{Kind: barCall, Name: nameOfCall(c), Call: c.N, Begin: r.since(calls[i].At), End: r.since(calls[i].At.Add(calls[i].Took)), Failed: c.Failed(), Reads: c.Method == http.MethodGet})
	}
	switch {
	case r.run.Fault != nil:
		at := r.failedAt(t, calls)
		if !slices.ContainsFunc(list, func(b bar) bool { return b.Failed }) {
			list = append(list, bar{Kind: barRest, Name: "failed", Begin: at, End: at, Failed: true})
		}
		if rest := (bar{Kind: barRest, Name: "end of the run", Begin: at, End: t.Total}); rest.Length() >= 0.001 {
			list = append(list, rest)
		}
	case r.whole && r.run.Status.Active() && !r.run.StartedAt.IsZero():
		list = append(list, bar{Kind: barRest, Name: "working", Begin: max(r.newest, t.Waiting), End: t.Total})
	}
	slices.SortStableFunc(list, func(a, b bar) int { return cmp.Compare(a.Begin, b.Begin) })
	return list
}

// lastBars returns the last bars, as in the conversation, and the earlier ones that failed.
func lastBars(all []bar) []bar {
	over := len(all) - storyBars
	list := slices.DeleteFunc(slices.Clone(all), func(b bar) bool {
		if over <= 0 || b.Failed {
			return false
		}
		over--
		return true
	})
	return list[max(0, len(list)-storyBars):]
}

// firstBars returns the first bars, and the later ones that failed.
func firstBars(all []bar) []bar {
	n := 0
	return slices.DeleteFunc(slices.Clone(all), func(b bar) bool {
		n++
		return n > storyBars && !b.Failed
	})
}

// failedAt returns when a run failed: after the newest step and the calls, or at its end if no calls were kept.
func (r *storyReader) failedAt(t timing, calls []adapter.AgentCall) float64 {
	if len(calls) == 0 {
		return t.Total
	}
	at := r.newest
	for _, c := range calls {
		at = max(at, r.since(c.At.Add(c.Took)))
	}
	return min(at, t.Total)
}

// nameOfCall returns the method and the last part of the path of a call that is no id. The parts before it are mostly ids.
func nameOfCall(c *callLine) string {
	at := c.URL
	if u, err := url.Parse(at); err == nil {
		at = u.Path
	}
	at = strings.TrimSuffix(at, "/")
	n := strings.LastIndexByte(at, '/')
	if n > 0 && len(at)-n > 16 && strings.ContainsAny(at[n:], "0123456789") {
		at = at[:n] + "/…"
		n = strings.LastIndexByte(at[:n], '/')
	}
	if n > 0 {
		at = "…" + at[n:]
	}
	return cutRunes(c.Method+" "+cmp.Or(at, "/"), 60)
}

// turns returns what the run added to the conversation: the answer with which it began, the new messages of the state,
// and the questions with which it ended, with their answers if another run has given them since.
func (r *storyReader) turns(v *runView) (list []turn) {
	o := &r.run.Options
	if o.Resuming && !o.ByMessage {
		for _, q := range o.Asked {
			list = append(list, turn{Role: "agent", Text: cut(rule.QuestionText(q.Value)), Asks: true, Run: q.Run})
		}
	}
	fresh := []turn{}
	for _, m := range newMessages(r.before, r.after) {
		fresh = append(fresh, turnOf(m))
	}
	if r.after != nil {
		nameTools(fresh, r.after.Messages())
	}
	spoken := slices.ContainsFunc(fresh, func(t turn) bool { return t.Role == "person" })
	if v.Request != nil && !spoken {
		list = append(list, turn{Role: "person", Text: *v.Request})
	}
	list = append(list, fresh...)
	ask := func(text cutText, open string) {
		if n := len(list) - 1; n >= 0 && list[n].Role == "agent" && list[n].Text == text { // a task/step agent's last words are its question
			list[n].Asks, list[n].Question = true, open
			return
		}
		list = append(list, turn{Role: "agent", Text: text, Asks: true, Question: open})
	}
	for i, q := range v.Closed {
		ask(cut(q.Text), "")
		if next := i + 1; q.RunID != "" && (next == len(v.Closed) || v.Closed[next].RunID != q.RunID) { // one run may answer several
			answer := turn{Role: "person", Run: q.RunID}
			if q.Answer != nil {
				answer.Text = *q.Answer
			}
			list = append(list, answer)
		}
	}
	for _, q := range v.Questions {
		ask(cut(rule.QuestionText(q.Value)), q.ID)
	}
	if v.Fault != nil && !slices.ContainsFunc(list, func(t turn) bool { return t.Failure }) { // only opaque agents' states have it
		list = append(list, turn{Role: roleBridge, Text: cut(v.Fault.Message), Failure: true})
	}
	return list
}

// newMessages returns the messages of a state that an earlier state does not have. Changed messages are new.
func newMessages(before, after *state.Fold) (list []json.RawMessage) {
	if after == nil {
		return nil
	}
	var old []json.RawMessage
	if before != nil {
		old = before.Messages()
	}
	return addedMessages(old, after.Messages())
}

// addedMessages returns the messages of a list that an earlier list does not have.
func addedMessages(old, all []json.RawMessage) (list []json.RawMessage) {
	for len(old) > 0 && len(all) > 0 && string(old[0]) == string(all[0]) {
		old, all = old[1:], all[1:]
	}
	had := map[string]bool{}
	for _, m := range old {
		had[string(m)] = true
	}
	for _, m := range all {
		if !had[string(m)] {
			list = append(list, m)
		}
	}
	return list
}

const maxCause = 200 // runes

// causeOf returns the cause of a failure without its consequence and advice. Other texts than the bridge's messages about
// agents are returned as they are.
func causeOf(agent string, f *mapping.Fault) string {
	message := mapping.WithoutTraceback(f.Message)
	short := mapping.WithoutAgent(agent, message)
	if short == message {
		return brief(short)
	}
	short = strings.TrimSuffix(short, ".")
	what, cause, _ := strings.Cut(short, ": ")
	if strings.HasPrefix(what, "Answered ") && cause != "" {
		cause, _, _ = strings.Cut(cause, ". ")
		if strings.HasPrefix(cause, "it ") || strings.HasPrefix(cause, "the request is too large") || strings.HasPrefix(cause, "redirects are ") {
			return "the agent " + lowered(what) + " because " + cause // the bridge's words (upstream.Client.Refusal)
		}
		return "the agent " + lowered(what) + ", “" + brief(cause) + "”"
	}
	cause = " " + cause
	if rest, ok := strings.CutPrefix(cause, " it "); ok {
		cause = " the agent " + rest
	}
	cause = strings.ReplaceAll(cause, " its ", " the agent's ")[1:]
	if what == "Cannot be reached" {
		cause, _, _ = strings.Cut(cause, "; ")
		if _, name, ok := strings.Cut(cause, " ("); ok { // such as "connection refused"
			return strings.TrimSuffix(name, ")") + " by agent " + agent
		}
		return cause
	}
	first, _, _ := strings.Cut(short, ". ")
	return "the agent " + lowered(brief(first))
}

func lowered(sentence string) string {
	first, n := utf8.DecodeRuneInString(sentence)
	if n == 0 {
		return ""
	}
	return string(unicode.ToLower(first)) + sentence[n:]
}

// outcomeOf returns how a run ended as a verb, or that it is active.
func outcomeOf(v *runView, run *mapping.Run) string {
	switch {
	case v.Parked:
		return "is waiting for a client"
	case v.Status == mapping.RunPending:
		return "is waiting to start"
	case v.Status == mapping.RunRunning:
		return "is working"
	case v.Status == mapping.RunSuccess:
		return "succeeded"
	case v.Status == mapping.RunTimeout:
		return "timed out"
	case v.Status == mapping.RunError:
		return "failed"
	case v.asked() == 1:
		return "asked a question"
	case v.asked() > 1:
		return fmt.Sprintf("asked %d questions", v.asked())
	case run.CancelReason != "":
		return "was cancelled"
	}
	return "stopped"
}

// summary returns one sentence about what happened so far.
func (r *storyReader) summary(v *runView) string {
	t := v.Timing
	steps := ""
	if r.whole {
		steps = fmt.Sprintf(" after %d steps", r.steps)
		if r.steps == 1 {
			steps = " after 1 step"
		}
	}
	switch {
	case v.Parked:
		return "Waiting until a client requests the next step."
	case v.Status == mapping.RunPending:
		return "Waiting to start for " + spanOf(t.Waiting) + "."
	case v.Status == mapping.RunRunning:
		if steps != "" {
			steps = ", " + strings.TrimPrefix(steps, " after ") + " so far"
		}
		return "Working for " + spanOf(t.Total-t.Waiting) + steps + "."
	}
	if r.whole && r.steps == 0 {
		steps = ""
		if v.Status != mapping.RunSuccess && v.asked() == 0 {
			steps = " before its first step"
		}
	}
	outcome := outcomeOf(v, r.run)
	said := strings.ToUpper(outcome[:1]) + outcome[1:]
	said += steps + " in " + spanOf(t.Total)
	if v.Fault != nil && v.Fault.Message != "" {
		return said + ": " + strings.TrimSuffix(line(cutRunes(causeOf(v.Agent, v.Fault), maxCause)), ".") + "."
	}
	if t.Known {
		said += "; the agent took " + spanOf(t.Agent)
	}
	said += "."
	switch {
	case len(v.Closed) == 0 || len(v.Questions) > 0:
		return said
	case v.Continued != "":
		return said + " It was answered, and another run continued."
	}
	return said + " No question is open now."
}
