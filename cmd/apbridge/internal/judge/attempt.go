package judge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/agent"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/challenge"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/report"
	"github.com/apbridge/apbridge/mapping/credential"
)

// Limits of one task.
const (
	maxFiles   = 1000
	maxBytes   = 256 << 20
	maxAnswers = 1 << 20 // bytes of steps that are reported
	maxReason  = 1000    // bytes of a reason, without the ellipsis
)

// grace bounds the remaining work of an attempt after a run is stopped.
const grace = 15 * time.Second

// attempt is one attempt at a challenge.
type attempt struct {
	*run
	challenge challenge.Challenge
	report.Attempt
	began   time.Time
	failure string // why the agent's run failed, according to its last step
	silent  bool   // a step got no response in time
	answers int    // bytes of steps so far
	done    bool   // the agent was not interrupted
}

func (r *run) try(ctx context.Context, c challenge.Challenge, n int) report.Attempt {
	a := &attempt{run: r, challenge: c, Attempt: report.Attempt{Number: n}, began: time.Now()}
	a.emit(report.EventChallenge, "")
	err := a.work(ctx)
	a.done = err == nil
	after, cancel := afterwards(ctx)
	defer cancel()
	if a.done || a.halted(ctx) {
		err = a.judge(after)
	}
	a.Seconds = time.Since(a.began).Seconds()
	a.conclude(ctx, after, err)
	if r.Threads != "" && a.TaskID != "" {
		a.Thread = r.Threads + a.TaskID
	}
	if r.Bridge && a.TaskID != "" {
		if u := r.Agent.ThreadUsage(after, a.TaskID); u.Tokens != nil {
			a.Usage.Tokens = u.Tokens
		}
	}
	return a.Attempt
}

func (a *attempt) emit(kind, text string) {
	a.run.emit(report.Event{Kind: kind, Challenge: a.challenge.Name, Attempt: a.Number, Step: a.Steps, Text: text})
}

// work drives the agent up to its last step, the time limit or a failure.
func (a *attempt) work(ctx context.Context) (err error) {
	if a.TaskID, err = a.Agent.Create(ctx, a.challenge.Task); err != nil {
		return fmt.Errorf("the task could not be created: %w", err)
	}
	a.emit(report.EventTask, a.TaskID)
	for _, f := range a.challenge.In {
		a.emit(report.EventUpload, f.Path)
		if err := a.Agent.Upload(ctx, a.TaskID, f.Path, f.Content); err != nil {
			return fmt.Errorf("the file %s could not be uploaded: %w", f.Path, err)
		}
	}
	for last := false; !last && !a.TimedOut; {
		if last, err = a.step(ctx); err != nil {
			return fmt.Errorf("step %d: %w", a.Steps+1, err)
		}
		a.TimedOut = !last && time.Since(a.began) > a.limit()
	}
	return nil
}

func (a *attempt) limit() time.Duration {
	if a.Cutoff > 0 {
		return a.Cutoff
	}
	return a.challenge.Limit()
}

func (a *attempt) step(ctx context.Context) (last bool, err error) {
	a.run.emit(report.Event{Kind: report.EventAsk, Challenge: a.challenge.Name, Attempt: a.Number, Step: a.Steps + 1})
	s, err := a.Agent.Step(ctx, a.TaskID)
	if err != nil {
		a.silent = errors.Is(err, agent.ErrNoAnswer)
		return false, err
	}
	a.Steps++
	a.Usage.Add(s.Additional)
	a.failure = shortened(s.Failure)
	if s.Output != "" {
		a.LastWords = shortened(s.Output)
	}
	if a.answers += len(s.Raw); a.answers <= maxAnswers {
		a.Answers = append(a.Answers, s.Raw)
	}
	a.run.emit(report.Event{Kind: report.EventStep, Challenge: a.challenge.Name, Attempt: a.Number, Step: a.Steps, Text: shortened(s.Output), Last: s.Last})
	return s.Last, nil
}

// halted reports whether the steps ended because of Ctrl-C or a missing response. The files are judged nevertheless, as
// in agbenchmark.
func (a *attempt) halted(ctx context.Context) bool {
	a.TimedOut = a.TimedOut || a.silent
	return a.silent || ctx.Err() != nil && a.TaskID != ""
}

// judge downloads the files and judges them.
func (a *attempt) judge(ctx context.Context) error {
	a.emit(report.EventJudge, "")
	w, err := a.workspace()
	if err != nil {
		return err
	}
	err = a.fetch(ctx, w)
	if err == nil {
		v := a.verdict(ctx, w)
		a.Status, a.Reason, a.Files, a.Output, a.GraderTokens = v.Status, v.Reason, v.Files, v.Output, v.GraderTokens
	}
	_ = w.Close() // if removal fails, Sweep tries again
	return err
}

func (a *attempt) verdict(ctx context.Context, w *workspace) verdict {
	if a.challenge.Ground.Eval.Type == challenge.ByModel {
		return a.Python.judgeByModel(ctx, a.Model, a.challenge, w)
	}
	return a.Python.judge(ctx, a.challenge, w)
}

// workspace creates the folder for the agent's files. Each attempt has its own if they are kept.
func (a *attempt) workspace() (*workspace, error) {
	if a.Keep == "" {
		return newWorkspace("")
	}
	folder := filepath.Join(a.Keep, a.folder())
	w, err := newWorkspace(folder)
	for n := 2; errors.Is(err, fs.ErrExist); n++ { // a challenge of a similar name
		w, err = newWorkspace(fmt.Sprintf("%s~%d", folder, n))
	}
	return w, err
}

var notInNames = regexp.MustCompile(`[^\pL\pN._-]`)

// folder returns a name for this attempt. It need not be unique.
func (a *attempt) folder() string {
	const most = 100 // bytes, of the 255 that folders may have
	name := clipped(strings.TrimLeft(notInNames.ReplaceAllString(a.challenge.Name, "_"), "."), most)
	return fmt.Sprintf("%s-%d", name, a.Number)
}

// fetch downloads the artifacts, even after the time limit. All downloads together may take as long as one request,
// since a slow agent can have a thousand files.
func (a *attempt) fetch(ctx context.Context, w *workspace) error {
	ctx, stop := context.WithTimeoutCause(ctx, a.Agent.Patience, agent.ErrNoAnswer)
	defer stop()
	list, err := a.Agent.Artifacts(ctx, a.TaskID, maxFiles)
	switch {
	case err != nil:
		return fmt.Errorf("its files could not be listed: %w", err)
	case len(list) > maxFiles:
		return fmt.Errorf("the agent lists at least %d files; at most %d are allowed", len(list), maxFiles)
	}
	room := int64(maxBytes)
	for _, f := range list {
		err := w.Write(f.Path(), func(to io.Writer) error {
			n, err := a.Agent.Download(ctx, a.TaskID, f.ID, to, room)
			room -= n
			return err
		})
		if room < 0 {
			return fmt.Errorf("the agent's files are larger than %d MiB together", maxBytes>>20)
		}
		if err != nil {
			return fmt.Errorf("its file %.200q could not be downloaded: %w", f.Path(), err)
		}
	}
	return nil
}

// conclude sets the reason of an attempt that did not pass. ctx is the context of the work, after that of the judging.
// err is the error that prevented the judging.
func (a *attempt) conclude(ctx, after context.Context, err error) {
	if err != nil {
		a.Status, a.Reason = report.Failed, a.transport(err)
	}
	if a.Status == report.Passed {
		return
	}
	// Reports may be shared, so credentials are hidden. This happens before the text is shortened, which could leave
	// half of one.
	defer func() { a.Reason = line(credential.Set(nil).Hide(a.Reason), maxReason) }()
	switch {
	case ctx.Err() != nil && !a.done: // not the agent's fault
		a.Status, a.Reason = report.Skipped, fmt.Sprintf("stopped in step %d", a.Steps+1)
	case after.Err() != nil:
		a.Status, a.Reason = report.Skipped, "stopped while its files were being judged"
	case a.TimedOut:
		a.Reason = fmt.Sprintf("%s; %s", a.ranOut(), a.Reason)
	case a.failure != "" && a.Status == report.Failed:
		if why := a.gone(); why != nil {
			a.failure = why.Error()
		}
		a.Reason = fmt.Sprintf("the agent's run failed: %s; %s", a.failure, a.Reason)
	}
}

func (a *attempt) gone() error {
	if a.Gone == nil {
		return nil
	}
	return a.Gone()
}

// ranOut describes the time limit that was reached.
func (a *attempt) ranOut() string {
	if a.silent {
		return fmt.Sprintf("no answer to step %d within %s (--step-timeout)", a.Steps+1, spoken(a.Agent.Patience))
	}
	return fmt.Sprintf("time limit of %s reached in step %d", spoken(a.limit()), a.Steps)
}

// transport returns a readable description of a failed request.
func (a *attempt) transport(err error) string {
	var call *url.Error
	var wire net.Error
	if !errors.As(err, &call) || errors.As(err, &wire) && wire.Timeout() {
		return err.Error()
	}
	if why := a.gone(); why != nil {
		return why.Error()
	}
	return strings.Replace(err.Error(), call.Error(), fmt.Sprintf("the connection to the agent broke (%v)", call.Err), 1)
}

// spoken formats a duration, such as 6 s or 5 min.
func spoken(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.String()
	case d >= 2*time.Minute && d%time.Minute == 0:
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return fmt.Sprintf("%g s", d.Seconds())
}

func shortened(text string) string { return line(text, 300) }

// line returns the first bytes of a text on one line.
func line(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		return clipped(text, most) + "…"
	}
	return text
}

// clipped returns the first bytes of a text in whole characters.
func clipped(text string, most int) string {
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}

// afterwards returns a context that ends a grace period after ctx ends.
func afterwards(ctx context.Context) (context.Context, context.CancelFunc) {
	after, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
	return after, func() { stop(); cancel() }
}
