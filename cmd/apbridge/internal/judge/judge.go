// Package judge runs challenges against an agent that serves the Agent Protocol v1, directly or through a bridge, and
// judges what it hands in. The command bench calls it. It knows nothing of the bridge.
//
// It calls in agbenchmark's order: a task is made, the files of artifacts_in are uploaded one after another, steps are
// asked for without a body until one is the last or the time limit has passed, the artifacts are listed and each is
// downloaded. The result is judged in a folder of its own.
package judge

import (
	"context"
	"slices"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/agent"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/challenge"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/report"
)

// Options are what is run against which agent.
type Options struct {
	Agent *agent.Client
	// Challenges are run in this order, as challenge.Order makes it.
	Challenges []challenge.Challenge
	Alone      bool          // dependencies do not count
	Repeat     int           // tries of each challenge, from 1
	Parallel   int           // challenges at a time, from 1
	Cutoff     time.Duration // replaces the challenges' own time limits, above 0
	Keep       string        // folder that is there, for the agent's files; "" keeps none
	Python     *Python
	Model      Model // judges challenges of type llm; nil is none
	// Bridge: Agent is a bridge, whose threads tell what each task took.
	Bridge bool
	// Threads is the address under which people find a task's thread by its id; "" for none.
	Threads string
	// Gone returns why an agent whose call or run failed is gone; nil if it is not. It may be nil itself.
	Gone func() error
	// Watch is told what happens, by one goroutine at a time.
	Watch func(report.Event)
}

// Run runs the challenges and reports how each went; an agent that fails is in the report. When ctx ends, what is under
// way is judged by what is there, and what is left is skipped.
func Run(ctx context.Context, o Options) report.Report {
	r := &run{Options: o, results: make([]report.Result, len(o.Challenges)), state: map[string]state{}, events: make(chan report.Event)}
	told := make(chan struct{})
	go func() {
		defer close(told)
		for e := range r.events {
			r.Watch(e)
		}
	}()
	began := time.Now()
	stop := r.tellOfStop(ctx)
	r.all(ctx)
	stop()
	close(r.events)
	<-told
	return report.Report{URL: o.Agent.Base, Began: began.UTC(), Seconds: time.Since(began).Seconds(), Interrupted: ctx.Err() != nil, Results: r.results}
}

// run is one run of all challenges.
type run struct {
	Options
	results []report.Result  // by the order of Challenges
	state   map[string]state // by canonical name; of the goroutine of all
	events  chan report.Event
}

// state is how far a challenge is.
type state int

const (
	waiting state = iota
	running
	notPassed
	passed
)

func (r *run) emit(e report.Event) {
	e.Time = time.Now().UTC()
	r.events <- e
}

// tellOfStop tells once when ctx ends; after the func that it returns it tells nothing more.
func (r *run) tellOfStop(ctx context.Context) (stop func()) {
	said := make(chan struct{})
	cancel := context.AfterFunc(ctx, func() { defer close(said); r.emit(report.Event{Kind: report.EventStop}) })
	return func() {
		if !cancel() {
			<-said
		}
	}
}

// all runs the challenges, each as soon as those it depends on are done and a place is free.
func (r *run) all(ctx context.Context) {
	for _, c := range r.Challenges {
		r.state[challenge.Canonical(c.Name)] = waiting
	}
	done, busy := make(chan int), 0
	for {
		for busy < r.Parallel {
			i := slices.IndexFunc(r.Challenges, r.ready)
			if i < 0 {
				break
			}
			c := r.Challenges[i]
			r.state[challenge.Canonical(c.Name)] = running
			why := r.missing(ctx, c)
			busy++
			go func() { r.results[i] = r.tries(ctx, c, why); done <- i }()
		}
		if busy == 0 {
			return
		}
		r.settle(<-done)
		busy--
	}
}

// ready reports whether a challenge waits for nothing but a place.
func (r *run) ready(c challenge.Challenge) bool {
	if r.state[challenge.Canonical(c.Name)] != waiting {
		return false
	}
	return r.Alone || !slices.ContainsFunc(c.Dependencies, func(name string) bool {
		s, known := r.state[challenge.Canonical(name)]
		return known && s <= running
	})
}

// settle notes how a challenge went: passed once is passed.
func (r *run) settle(i int) {
	s := notPassed
	if r.results[i].Count(report.Passed) > 0 {
		s = passed
	}
	r.state[challenge.Canonical(r.Challenges[i].Name)] = s
}

// missing is why a challenge cannot be tried; "" for nothing.
func (r *run) missing(ctx context.Context, c challenge.Challenge) string {
	for _, name := range c.Dependencies {
		switch s, known := r.state[challenge.Canonical(name)]; {
		case r.Alone:
		case !known:
			return "depends on " + name + ", which is not among the challenges that are run"
		case s != passed:
			return "depends on " + name + ", which was not passed"
		}
	}
	if c.Ground.Eval.Type == challenge.ByModel && r.Model == nil {
		return "a model would have to judge this (ground.eval.type is llm), and none is configured (--grader-url)"
	}
	return r.Python.missing(ctx, c.Ground.Eval.Type)
}

// tries makes the tries of one challenge, unless it is missing something.
func (r *run) tries(ctx context.Context, c challenge.Challenge, missing string) report.Result {
	result := report.Result{Challenge: c}
	for n := 1; n <= r.Repeat; n++ {
		a := report.Attempt{Number: n, Status: report.Skipped, Reason: missing}
		switch {
		case ctx.Err() != nil:
			a.Reason = "stopped before it was tried"
		case missing == "":
			a = r.try(ctx, c, n)
		}
		result.Attempts = append(result.Attempts, a)
		r.emit(report.Event{Kind: report.EventResult, Challenge: c.Name, Attempt: n, Result: &a})
		if a.Status == report.Skipped {
			break
		}
	}
	return result
}
