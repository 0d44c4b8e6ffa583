// Package check provides the building blocks of conformance checks: rules, requests to the checked server, shapes of
// responses, and results. Packages a2a, taskstep and threadrun use it to define their checks, and package conformance
// runs them. Start reading at Check and Talk.
//
// A check sends requests only to the given server and follows no redirects. Objects that it creates are deleted at the
// end if the dialect has a request for that.
package check

import (
	"context"
	"fmt"
	"time"
)

// Level is the weight of a rule. A rule is a Must if a document states it by a schema, by a status or in words. It is a
// Should if the document recommends it or if it follows from examples. It is a May if the document leaves it to
// servers.
type Level string

const (
	Must   Level = "must"
	Should Level = "should"
	May    Level = "may"
)

// Document is the source of rules, with its version.
type Document string

// At cites a section.
func (d Document) At(section string) Citation { return Citation{string(d), section} }

// Citation is the source of a rule.
type Citation struct {
	Document string `json:"document"`
	Section  string `json:"section"`
}

func (c Citation) String() string { return c.Document + ", " + c.Section }

// Check is one rule. The check passes unless Run fails or skips its Talk.
type Check struct {
	ID    string // begins with the dialect and a dot
	Says  string // the rule in one sentence
	Level Level
	Cites Citation
	Run   func(*Talk)
}

// Suite holds the checks of a dialect. Begin returns the checks for one server. They share objects that one of them has
// created, such as a run. Not for concurrent use.
type Suite struct {
	Name   string // the value of --dialect
	Title  string
	Speaks func(*Talk) bool // reports whether the server speaks the dialect, without creating anything
	Begin  func() []Check
}

// Status is the outcome of a check. A check is skipped if its rule cannot be observed.
type Status string

const (
	Passed  Status = "passed"
	Failed  Status = "failed"
	Skipped Status = "skipped"
)

// Result is a check with its outcome.
type Result struct {
	ID      string   `json:"id"`
	Says    string   `json:"says"`
	Level   Level    `json:"level"`
	Cites   Citation `json:"cites"`
	Status  Status   `json:"status"`
	Reason  string   `json:"reason,omitempty"`
	Sent    string   `json:"sent,omitempty"` // the request that shows a failure
	Came    string   `json:"came,omitempty"` // its response
	Seconds float64  `json:"seconds"`
}

// Run runs the wanted checks in order. When ctx ends, the rest is skipped.
func (s Suite) Run(ctx context.Context, server *Server, wanted func(Check) bool, watch func(Result)) (results []Result) {
	for _, c := range s.Begin() {
		if !wanted(c) {
			continue
		}
		r := c.run(ctx, server)
		watch(r)
		results = append(results, r)
	}
	return results
}

func (c Check) run(ctx context.Context, server *Server) Result {
	r := Result{ID: c.ID, Says: c.Says, Level: c.Level, Cites: c.Cites, Status: Passed}
	if ctx.Err() != nil {
		r.Status, r.Reason = Skipped, "stopped before it was finished"
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
		r.Status, r.Reason = Skipped, "stopped before it was finished"
	}
	return r
}

// verdict is the first failure of a talk, or the reason why it was skipped.
type verdict struct {
	status     Status
	reason     string
	sent, came string
}

// Once is a value that several checks share. The first check that needs it creates it. The zero value is ready to use.
type Once[T any] struct {
	tried   bool
	value   T
	verdict *verdict
}

// Own is for the check whose rule is that the value can be created. The check fails if creating the value fails.
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

// Need is for all other checks. It skips the check if the value cannot be created.
func (o *Once[T]) Need(t *Talk, what string, make func(*Talk) T) T {
	if t.Over() {
		return o.value
	}
	v := o.Own(t, make)
	if o.verdict != nil && o.verdict.status == Failed {
		t.verdict = &verdict{status: Skipped, reason: fmt.Sprintf("there is no %s to check: %s", what, o.verdict.reason)}
	}
	return v
}

// SpokenBy reports whether a server speaks the suite's dialect.
func (s Suite) SpokenBy(ctx context.Context, server *Server) bool {
	t := server.Talk(ctx)
	defer t.end()
	return s.Speaks(t)
}
