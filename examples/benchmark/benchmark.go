// Package benchmark runs challenges in agbenchmark's data format against any
// agent that serves the Agent Protocol v1: one directly, or any kind of agent
// through a bridge.
//
// It calls in agbenchmark's order: a task is made, the files of artifacts_in
// are uploaded one after another, steps are asked for without a body until one
// is the last or the cutoff has passed, the artifacts are listed once and each
// is downloaded. What came back is judged in a temporary folder.
//
// Challenges of type python and pytest run what the agent wrote on this
// machine. Only use them with agents whose work you would run yourself.
package benchmark

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// Options say what is run against whom.
type Options struct {
	// URL is the server: http://host:port, or with /agents/NAME behind it for
	// another agent of a bridge than its default one.
	URL string
	// Key is sent as x-api-key; "" sends none.
	Key        string
	Challenges []Challenge
	// Cutoff replaces the challenges' own time limits if it is above 0.
	Cutoff time.Duration
	// StepTimeout bounds one request; 0 is 5 minutes, as the harness has it.
	StepTimeout time.Duration
	// PythonTimeout bounds one execution of a file; 0 is 30 s.
	PythonTimeout time.Duration
	// Python is the interpreter; "" finds python3 on the PATH.
	Python string
	// Progress gets a line per challenge; nil discards them.
	Progress io.Writer
}

func (o Options) withDefaults() Options {
	if o.StepTimeout <= 0 {
		o.StepTimeout = 5 * time.Minute
	}
	if o.PythonTimeout <= 0 {
		o.PythonTimeout = 30 * time.Second
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	return o
}

// Run takes the challenges one after another, those before first that others
// depend on, and reports how each went. Its error is for what keeps all of them
// from being run; an agent that fails is in the report. When ctx ends, the
// challenges that are left are skipped.
func Run(ctx context.Context, o Options) (Report, error) {
	o = o.withDefaults()
	base, err := parseBase(o.URL)
	if err != nil {
		return Report{}, err
	}
	order, err := inOrder(o.Challenges)
	if err != nil {
		return Report{}, err
	}
	python, err := findPython(o.Python)
	if err != nil {
		return Report{}, err
	}
	r := runner{
		Options: o, python: python, done: map[string]Status{},
		agent: &client{tasks: base + "/ap/v1/agent/tasks", key: o.Key, http: &http.Client{Timeout: o.StepTimeout}},
	}
	report, reached := Report{URL: o.URL, Began: time.Now().UTC()}, false
	for i, c := range order {
		result, err := r.one(ctx, c)
		reached = reached || result.TaskID != ""
		if !reached && unreachable(err) {
			return Report{}, fmt.Errorf("nothing answers at %s: %w. Start the agent or the bridge, or name another with -url", o.URL, err)
		}
		r.done[c.Name] = result.Status
		report.Challenges = append(report.Challenges, result)
		fmt.Fprintf(o.Progress, "[%d/%d] %s\n", i+1, len(order), result.line())
	}
	report.Seconds = time.Since(report.Began).Seconds()
	return report, nil
}

// runner is one run of all challenges.
type runner struct {
	Options
	agent  *client
	python interpreter
	done   map[string]Status // by name
}

// unreachable tells that no connection could be made.
func unreachable(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// one runs a challenge, unless something it needs is missing. err is why the
// agent or its work could not be judged; it is in the result, too.
func (r *runner) one(ctx context.Context, c Challenge) (result Result, err error) {
	result = Result{Name: c.Name, Category: c.Category, Difficulty: c.Info.Difficulty}
	if why := r.missing(ctx, c); why != "" {
		result.Status, result.Reason = Skipped, why
		return result, nil
	}
	began := time.Now()
	w, err := r.attempt(ctx, c, &result)
	if err == nil {
		defer w.remove()
		err = r.judge(ctx, c, w, &result)
	}
	switch {
	case ctx.Err() != nil: // that is not the agent's fault
		result.Status, result.Reason, result.Files = Skipped, "stopped in its middle", nil
	case err != nil:
		result.Status, result.Reason = Failed, err.Error()
	}
	result.Seconds = time.Since(began).Seconds()
	return result, err
}

// missing is why a challenge cannot be run; "" for nothing.
func (r *runner) missing(ctx context.Context, c Challenge) string {
	if ctx.Err() != nil {
		return "stopped"
	}
	for _, name := range c.Dependencies {
		switch status, known := r.done[challengeName(name)]; {
		case !known:
			return "depends on " + name + ", which is not among the challenges"
		case status != Passed:
			return "depends on " + name + ", which was not passed"
		}
	}
	return r.python.missing(ctx, c.Ground.Eval.Type)
}

// attempt has the agent work and brings its files.
func (r *runner) attempt(ctx context.Context, c Challenge, result *Result) (*workspace, error) {
	cutoff := c.cutoff()
	if r.Cutoff > 0 {
		cutoff = r.Cutoff
	}
	began := time.Now()
	task, err := r.agent.create(ctx, c.Task)
	if err != nil {
		return nil, err
	}
	result.TaskID = task
	for _, f := range c.in {
		if err := r.agent.upload(ctx, task, f); err != nil {
			return nil, err
		}
	}
	for last := false; !last && !result.TimedOut; result.Steps++ {
		if last, err = r.agent.step(ctx, task); err != nil {
			return nil, err
		}
		result.TimedOut = !last && time.Since(began) > cutoff
	}
	return r.fetch(ctx, task)
}

// fetch downloads what the task has, also after a cutoff: what is there counts.
func (r *runner) fetch(ctx context.Context, task string) (*workspace, error) {
	list, err := r.agent.artifacts(ctx, task)
	if err != nil {
		return nil, err
	}
	w, err := newWorkspace()
	for i := 0; err == nil && i < len(list); i++ {
		var content []byte
		if content, err = r.agent.download(ctx, task, list[i].ID); err == nil {
			err = w.write(list[i].path(), content)
		}
	}
	if err != nil && w != nil {
		w.remove()
	}
	return w, err
}
