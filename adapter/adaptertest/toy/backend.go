package toy

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
)

// backend calls one toy. It has no state between runs.
type backend struct {
	up adapter.Upstream
	to *upstream.Client
}

func dial(up adapter.Upstream) (adapter.Backend, error) {
	return &backend{up, upstream.New(up, upstream.Options{Root: up.Config.URL, Limit: int64(up.Limits.Event)})}, nil
}

func detect(ctx context.Context, up adapter.Upstream) (bool, error) {
	to := upstream.New(up, upstream.Options{Root: up.Config.URL, Limit: 1 << 10})
	defer to.CloseIdle()
	ans, err := to.Do(ctx, &upstream.Call{Method: http.MethodGet, Path: "/toy", Accept: "text/plain"})
	if upstream.Is(err, upstream.Refused) || upstream.Is(err, upstream.BadAnswer) {
		return false, nil
	}
	return err == nil && strings.TrimSpace(string(ans.Body)) == "toy", err
}

// Traits describes a toy: it remembers its talks but shows no values, and runs without a request for each step.
func (b *backend) Traits() adapter.Traits {
	return adapter.Traits{Exposes: mapping.ExposesHistory, Stepping: mapping.SteppingFree, Kind: "a toy", Capabilities: capabilities()}
}

// Run sends the words with the id of the run, so that a resumed run gets the same response again. It omits the outputs
// that are already logged.
func (b *backend) Run(ctx context.Context, t *adapter.Assignment) iter.Seq2[mapping.Event, error] {
	return func(yield func(mapping.Event, error) bool) {
		s := &talk{backend: b, task: t, yield: yield}
		if err := s.run(ctx); err != nil && !errors.Is(err, errUnwanted) {
			yield(mapping.Event{}, b.failure(err))
		}
	}
}

var errUnwanted = errors.New("yield returned false")

// talk is one call of Run.
type talk struct {
	*backend
	task   *adapter.Assignment
	yield  func(mapping.Event, error) bool
	logged int             // outputs of this attempt in the log
	heard  int             // outputs of this attempt
	held   json.RawMessage // the newest output; the next line shows whether it is the last one
}

func (s *talk) run(ctx context.Context) error {
	for _, ev := range mapping.NewestAttempt(s.task.After) {
		if ev.Kind == mapping.KindUpdate {
			s.logged++
		}
	}
	once := fmt.Sprintf("%s.%d", s.task.Run.ID, s.task.Run.Attempt)
	talk := cmp.Or(s.task.Link.Topic, once)
	link := &mapping.Link{Agent: s.up.Name, TaskID: s.task.TaskID, Remote: once, Topic: talk}
	if err := s.emit(mapping.Event{Kind: mapping.KindLinked, Head: mapping.Head{Link: link}}); err != nil {
		return err
	}
	words := s.task.Task.Prompt
	if s.task.Resume {
		words = s.task.Task.Answer.Text
	}
	res, err := s.to.Open(ctx, &upstream.Call{
		Method: http.MethodPost, Path: "/toy/say", Operation: upstream.OpRun, Accept: "text/plain", Type: "text/plain",
		Header: map[string]string{onceHeader: once, talkHeader: talk}, Body: new(rawjson.Pieces).Literal(words),
	})
	if err != nil {
		return err
	}
	defer res.Body.Close()
	return s.listen(ctx, res.Body)
}

func (s *talk) listen(ctx context.Context, answer io.Reader) error {
	lines := bufio.NewScanner(answer)
	lines.Buffer(nil, int(s.up.Limits.Event))
	for lines.Scan() {
		if done, err := s.hear(lines.Text()); done || err != nil {
			return err
		}
	}
	if lines.Err() != nil {
		return s.to.Broken(ctx, lines.Err())
	}
	return s.fail(mapping.CodeBadUpstream, "broke off.")
}

// hear handles one line of the response.
func (s *talk) hear(line string) (done bool, err error) {
	mark, said, _ := strings.Cut(line, " ")
	if err := s.tell(line == "."); err != nil {
		return false, err
	}
	switch {
	case line == ".":
		return true, s.emit(mapping.Event{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &mapping.Outcome{Status: mapping.RunSuccess}}})
	case mark == "?" && json.Valid([]byte(said)):
		return true, s.ask(json.RawMessage(said))
	case mark == "!":
		return true, s.fail(mapping.CodeUpstreamError, "said: %s", s.to.Redact(said))
	case mark != "-" || !json.Valid([]byte(said)):
		return true, s.fail(mapping.CodeBadUpstream, "sent a line that is not part of its protocol.")
	}
	s.heard, s.held = s.heard+1, json.RawMessage(said)
	return false, nil
}

// tell yields the held output, unless it is logged.
func (s *talk) tell(last bool) error {
	output := s.held
	if s.held = nil; output == nil || s.heard <= s.logged {
		return nil
	}
	n, info := s.task.Done+s.heard-s.logged, mapping.StepInfo{Output: output, SaysLast: last}
	return s.emit(rule.StepUpdate(s.task.Run.ID, s.task.TaskID, n, info, nil, mapping.ApprovalAuto))
}

// ask ends the run with a question, which is its last output.
func (s *talk) ask(text json.RawMessage) error {
	s.heard++
	n := s.task.Done + s.heard - s.logged
	questions := []mapping.Interrupt{{ID: mapping.InterruptID(s.task.Run.ID, n), Value: text}}
	if s.heard > s.logged {
		ev := rule.StepUpdate(s.task.Run.ID, s.task.TaskID, n, mapping.StepInfo{Output: text}, nil, mapping.ApprovalAuto)
		ev.Head.Interrupts = questions
		if err := s.emit(ev); err != nil {
			return err
		}
	}
	return s.emit(mapping.Event{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &mapping.Outcome{Status: mapping.RunInterrupted, Interrupts: questions}}})
}

func (s *talk) emit(ev mapping.Event) error {
	ev.RunID = s.task.Run.ID
	if !s.yield(ev, nil) {
		return errUnwanted
	}
	return nil
}

func (b *backend) fail(code, format string, args ...any) *mapping.Error {
	return mapping.Errorf(mapping.Upstream, code, "The agent %s at %s %s", b.up.Name, b.up.Config.URL, fmt.Sprintf(format, args...))
}

// failure returns the error of a run for a failed call.
func (b *backend) failure(err error) *mapping.Error {
	f := upstream.Of(err)
	if f == nil || f.Kind == upstream.Stopped {
		return mapping.Classify(err) // an error of the bridge, or the reason for the end of ctx
	}
	e := b.fail(mapping.CodeUpstreamError, "answered %d.", f.Status)
	switch {
	case upstream.MayHaveActed(err):
		e = b.fail(mapping.CodeOutcomeUnknown, "received the request but did not answer completely. Check what it has done, then start a new run.")
	case f.Kind == upstream.NotReached:
		e = b.fail(mapping.CodeUpstreamUnreachable, "cannot be reached.")
	case f.Kind == upstream.BadAnswer:
		e = b.fail(mapping.CodeBadUpstream, "gave no complete answer.")
	}
	e.Err = f.Err
	return e
}
