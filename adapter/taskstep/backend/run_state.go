package backend

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
)

// errUnwanted means that the consumer of the run's events stopped.
var errUnwanted = errors.New("yield returned false")

// runState is shared by all parts of a runDriver: the assignment, the agent's task, and the consumer of the events. It
// must be used by a single goroutine.
type runState struct {
	*backend
	ctx      context.Context
	assigned *adapter.Assignment
	yield    func(mapping.Event, error) bool

	site   site
	topic  string // the agent's topic of the task, or ""
	remote string // the agent's task id
}

// root returns the beginning of all task paths.
func (s *runState) root() string {
	if s.topic != "" {
		return topicsPath + "/" + pathEscape(s.topic)
	}
	return s.site.prefix
}

func (s *runState) taskPath(rest string) string {
	return s.root() + "/tasks/" + url.PathEscape(s.remote) + rest
}

// known reports whether the agent still has the task. An error means that it could not be determined.
func (s *runState) known() (bool, error) {
	ans, err := s.get(s.ctx, s.taskPath(""), "")
	switch {
	case err != nil:
		return false, err
	case ans.Status/100 == 2:
		return true, nil
	case ans.Status == http.StatusNotFound,
		(ans.Status == http.StatusBadRequest || ans.Status >= 500) && notFound.Match(ans.Body),
		ans.Status == http.StatusInternalServerError && s.site.kind == kindForge:
		return false, nil
	}
	return false, s.refused(ans)
}

// mostSteps is the maximum number of steps of a run without any other limit. Nothing else stops an agent that never
// ends.
const mostSteps = 100

// stepLimit returns the maximum number of steps of the run. A run that was planned while the agent was unreachable may
// have no limit.
func (s *runState) stepLimit() int {
	return cmp.Or(s.assigned.Run.Options.MaxSteps, mostSteps)
}

// encode returns a file as the state holds it. content is nil if it is too large for the state.
func (s *runState) encode(a mapping.Artifact, content []byte) json.RawMessage {
	if content == nil {
		return rule.EncodeReference(a, s.assigned.Files.Path(a.ID))
	}
	return rule.EncodeFile(a, content, rule.FileStyle(s.up.Config.Artifacts.Style))
}

// link yields the agent's ids of the task and of the logged steps.
func (s *runState) link(steps []string) error {
	link := &mapping.Link{
		Agent: s.up.Name, TaskID: s.assigned.TaskID, Remote: s.remote, Topic: s.topic, Profile: s.site.profile(),
		Steps: append([]string(nil), steps...),
	}
	return s.emit(mapping.Event{Kind: mapping.KindLinked, Head: mapping.Head{Link: link}})
}

func (s *runState) end(out mapping.Outcome) error {
	return s.emit(mapping.Event{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &out}})
}

func (s *runState) emit(ev mapping.Event) error {
	ev.RunID = s.assigned.Run.ID
	if !s.yield(ev, nil) {
		return errUnwanted
	}
	return nil
}

// breakOff yields the error that ends the run.
func (s *runState) breakOff(err error) { s.yield(mapping.Event{}, mapping.Classify(err)) }

// lookFor calls look until it finds something, or for the longest time that a step or creation has taken so far. After
// a restart the observed time may include the downtime, so step_timeout bounds it.
func (s *runState) lookFor(longest time.Duration, look func() (found bool, err error)) (found bool, err error) {
	over := time.Now().Add(min(max(longest, s.settle), s.stepTimeout()))
	for wait := pollMin; ; wait = min(wait*2, pollMax) {
		if found, err = look(); found || err != nil {
			return found, err
		}
		rest := time.Until(over)
		if rest <= 0 {
			return false, nil
		}
		if err := await(s.ctx, min(wait, rest)); err != nil {
			return false, err
		}
	}
}
