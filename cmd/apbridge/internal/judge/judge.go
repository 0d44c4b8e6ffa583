// Package judge runs challenges against an agent that serves the Agent Protocol v1, directly or through a bridge, and
// judges the files it produces. The command bench uses it. It knows nothing about the bridge.
//
// Start reading at Run, attempt.try and Python.judge. An attempt makes the requests of agbenchmark in the same order.
// It creates a task, uploads the files of artifacts_in, requests steps without a body until one is the last or the time
// limit has passed, lists the artifacts and downloads each. The files are judged in a workspace by the rules of
// agbenchmark's BuiltinChallenge (agbenchmark/challenges/builtin.py), where one correct file is enough, or by a model
// (Grader).
package judge

import (
	"context"
	"slices"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/agent"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/challenge"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/report"
)

// Options configure Run.
type Options struct {
	Agent *agent.Client
	// Challenges are run in this order, which comes from challenge.Order.
	Challenges []challenge.Challenge
	Alone      bool          // ignore dependencies
	Repeat     int           // attempts of each challenge, at least 1
	Parallel   int           // challenges at a time, at least 1
	Cutoff     time.Duration // replaces the challenges' time limits if it is above 0
	Keep       string        // an existing folder for the agent's files; "" keeps none
	Python     *Python
	Model      Model // judges challenges of type llm; may be nil
	// Bridge reports whether Agent is a bridge, whose threads record the usage of each task.
	Bridge bool
	// Threads is a URL, or "". With a task's id appended, it shows the task's thread in a browser.
	Threads string
	// Gone returns the reason why the agent has exited, or nil if it has not. It is called after a failure. It may be
	// nil.
	Gone func() error
	// Watch is called for each event, from one goroutine.
	Watch func(report.Event)
}

// Run runs the challenges. When ctx ends, running attempts are judged by their files so far, and the rest is skipped.
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
	stop := r.emitStop(ctx)
	r.runAll(ctx)
	stop()
	close(r.events)
	<-told
	return report.Report{URL: o.Agent.Base, Began: began.UTC(), Seconds: time.Since(began).Seconds(), Interrupted: ctx.Err() != nil, Results: r.results}
}

type run struct {
	Options
	results []report.Result  // in the order of Challenges
	state   map[string]state // by canonical name; only used by the goroutine of runAll
	events  chan report.Event
}

// state is the progress of a challenge.
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

// emitStop emits one event when ctx ends. It emits none after stop.
func (r *run) emitStop(ctx context.Context) (stop func()) {
	said := make(chan struct{})
	cancel := context.AfterFunc(ctx, func() { defer close(said); r.emit(report.Event{Kind: report.EventStop}) })
	return func() {
		if !cancel() {
			<-said
		}
	}
}

// runAll starts each challenge when its dependencies are done and less than Parallel others are running.
func (r *run) runAll(ctx context.Context) {
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

// ready reports whether a challenge can be started.
func (r *run) ready(c challenge.Challenge) bool {
	if r.state[challenge.Canonical(c.Name)] != waiting {
		return false
	}
	return r.Alone || !slices.ContainsFunc(c.Dependencies, func(name string) bool {
		s, known := r.state[challenge.Canonical(name)]
		return known && s <= running
	})
}

// settle records the outcome of a challenge. One passed attempt is enough for challenges that depend on it.
func (r *run) settle(i int) {
	s := notPassed
	if r.results[i].Count(report.Passed) > 0 {
		s = passed
	}
	r.state[challenge.Canonical(r.Challenges[i].Name)] = s
}

// missing returns the reason why a challenge cannot be attempted, or "".
func (r *run) missing(ctx context.Context, c challenge.Challenge) string {
	for _, name := range c.Dependencies {
		switch s, known := r.state[challenge.Canonical(name)]; {
		case r.Alone:
		case !known:
			return "depends on " + name + ", which is not run"
		case s != passed:
			return "depends on " + name + ", which did not pass"
		}
	}
	if c.Ground.Eval.Type == challenge.ByModel && r.Model == nil {
		return "this challenge needs a model as a judge (ground.eval.type is llm), but none is configured (--grader-url)"
	}
	return r.Python.missing(ctx, c.Ground.Eval.Type)
}

// tries makes the attempts at one challenge, or skips it if something is missing.
func (r *run) tries(ctx context.Context, c challenge.Challenge, missing string) report.Result {
	result := report.Result{Challenge: c}
	for n := 1; n <= r.Repeat; n++ {
		a := report.Attempt{Number: n, Status: report.Skipped, Reason: missing}
		switch {
		case ctx.Err() != nil:
			a.Reason = "stopped before the first attempt"
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
