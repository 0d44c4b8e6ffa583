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

// errUnwanted: the reader of the run wants no more of it.
var errUnwanted = errors.New("yield said false")

// session is what all parts of a runDriver share: the run's assignment, its task at the agent, and the reader of its
// events. Used by one goroutine.
type session struct {
	*backend
	ctx      context.Context
	assigned *adapter.Assignment
	yield    func(mapping.Event, error) bool

	site   site
	topic  string // the agent's topic that the task is in; "" for none
	remote string // the agent's task id
}

// root is what the paths of tasks begin with.
func (s *session) root() string {
	if s.topic != "" {
		return topicsPath + "/" + pathEscape(s.topic)
	}
	return s.site.prefix
}

func (s *session) taskPath(rest string) string {
	return s.root() + "/tasks/" + url.PathEscape(s.remote) + rest
}

// known asks whether the agent still has the task. An error means that it could not be found out.
func (s *session) known() (bool, error) {
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

// mostSteps is how many steps a run may have where nothing sets a limit: nothing else ends an agent that never says
// that it is done.
const mostSteps = 100

// stepLimit is how many steps the run may have. A run that was planned while the agent was away may have no limit.
func (s *session) stepLimit() int {
	return cmp.Or(s.assigned.Run.Options.MaxSteps, mostSteps)
}

// encode is a file as it stands in the state; content is nil for one that is too large for it.
func (s *session) encode(a mapping.Artifact, content []byte) json.RawMessage {
	if content == nil {
		return rule.EncodeReference(a, s.assigned.Files.Path(a.ID))
	}
	return rule.EncodeFile(a, content, rule.FileStyle(s.up.Config.Artifacts.Style))
}

// link tells what the agent calls the task, and which of its steps are logged.
func (s *session) link(steps []string) error {
	link := &mapping.Link{
		Agent: s.up.Name, TaskID: s.assigned.TaskID, Remote: s.remote, Topic: s.topic, Profile: s.site.profile(),
		Steps: append([]string(nil), steps...),
	}
	return s.emit(mapping.Event{Kind: mapping.KindLinked, Head: mapping.Head{Link: link}})
}

func (s *session) end(out mapping.Outcome) error {
	return s.emit(mapping.Event{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &out}})
}

func (s *session) emit(ev mapping.Event) error {
	ev.RunID = s.assigned.Run.ID
	if !s.yield(ev, nil) {
		return errUnwanted
	}
	return nil
}

// breakOff yields why the run cannot go on.
func (s *session) breakOff(err error) { s.yield(mapping.Event{}, mapping.Classify(err)) }

// lookFor asks until something is found, or for as long as it was seen to take. What is seen over a restart of the
// bridge may be its time, and is bounded by step_timeout.
func (s *session) lookFor(longest time.Duration, look func() (found bool, err error)) (found bool, err error) {
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
