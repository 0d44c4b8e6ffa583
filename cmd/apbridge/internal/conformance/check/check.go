// Package check is what the checks of a dialect are made of: a rule with its place in a document, the talk with a
// server that shows whether it is kept, and the verdict. The packages of checks and their report use it.
//
// A check sends requests to the one server that it is given and to nothing else: redirections are not followed. It
// removes in the end what it made there, where the dialect has a request for that.
package check

import (
	"context"
	"fmt"
	"time"
)

// Level is how much a document demands of a rule.
type Level string

// The levels. A rule that a document states, by a schema, a status or in words, is a Must; one that it recommends or
// that follows from its examples is a Should; what it leaves to servers is a May.
const (
	Must   Level = "must"
	Should Level = "should"
	May    Level = "may"
)

// Citation is the place that has a rule.
type Citation struct {
	Document string `json:"document"`
	Section  string `json:"section"`
}

func (c Citation) String() string { return c.Document + ", " + c.Section }

// Check is one rule. Run talks until the rule is seen to be kept or not.
type Check struct {
	ID    string // with the dialect before the first point
	Says  string // the rule, one sentence
	Level Level
	Cites Citation
	Run   func(*Talk)
}

// Suite is the checks of a dialect. Begin makes them for one server: what one of them has made there, such as a run, is
// looked at by others. Not for concurrent use.
type Suite struct {
	Name   string // as --dialect has it
	Title  string
	Speaks func(*Talk) bool // asks, without making anything, whether the server speaks the dialect
	Begin  func() []Check
}

// Status is what became of a check.
type Status string

// The statuses. What cannot be seen is skipped, with the reason.
const (
	Passed  Status = "passed"
	Failed  Status = "failed"
	Skipped Status = "skipped"
)

// Result is a check with its verdict.
type Result struct {
	ID      string   `json:"id"`
	Says    string   `json:"says"`
	Level   Level    `json:"level"`
	Cites   Citation `json:"cites"`
	Status  Status   `json:"status"`
	Reason  string   `json:"reason,omitempty"`
	Sent    string   `json:"sent,omitempty"` // the request that showed a failure
	Came    string   `json:"came,omitempty"` // its answer
	Seconds float64  `json:"seconds"`
}

// Run does the checks of a suite in their order. An ended context leaves the rest skipped.
func (s Suite) Run(ctx context.Context, server *Server, wanted func(Check) bool, watch func(Result)) (results []Result) {
	for _, c := range s.Begin() {
		if !wanted(c) {
			continue
		}
		r := c.on(ctx, server)
		watch(r)
		results = append(results, r)
	}
	return results
}

// on does one check within the server's time limit.
func (c Check) on(ctx context.Context, server *Server) Result {
	r := Result{ID: c.ID, Says: c.Says, Level: c.Level, Cites: c.Cites, Status: Passed}
	if ctx.Err() != nil {
		r.Status, r.Reason = Skipped, "it was stopped before its end"
		return r
	}
	began := time.Now()
	t := server.Talk(ctx)
	c.Run(t)
	t.end()
	r.Seconds = time.Since(began).Seconds()
	if v := t.verdict; v != nil {
		r.Status, r.Reason, r.Sent, r.Came = v.status, v.reason, v.sent, v.came
	}
	if ctx.Err() != nil && r.Status == Failed {
		r.Status, r.Reason = Skipped, "it was stopped before its end"
	}
	return r
}

// verdict ends a talk: the first thing that is wrong, or why nothing can be seen.
type verdict struct {
	status     Status
	reason     string
	sent, came string
}

// Once is something that several checks look at and that is made once, by the first that needs it. The zero value is
// ready.
type Once[T any] struct {
	tried   bool
	value   T
	verdict *verdict
}

// Own returns the value to the check whose rule is that it can be made: that check fails where making it fails.
func (o *Once[T]) Own(t *Talk, make func(*Talk) T) T {
	if t.Over() {
		return o.value
	}
	if !o.tried {
		o.tried = true
		o.value = make(t)
		o.verdict = t.verdict
	}
	t.verdict = o.verdict
	return o.value
}

// Need returns the value to any other check, which is skipped, with what was seen then, where it cannot be made.
func (o *Once[T]) Need(t *Talk, what string, make func(*Talk) T) T {
	if t.Over() {
		return o.value
	}
	v := o.Own(t, make)
	if o.verdict != nil && o.verdict.status == Failed {
		t.verdict = &verdict{status: Skipped, reason: fmt.Sprintf("there is no %s to look at: %s", what, o.verdict.reason)}
	}
	return v
}

// Asked asks the server, and reports whether it speaks the suite's dialect.
func (s Suite) Asked(ctx context.Context, server *Server) bool {
	t := server.Talk(ctx)
	defer t.end()
	return s.Speaks(t)
}
