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

// job is one run as all parts of a drive see it: what is to be done, where the agent has it, and the way out for
// events. It is used by one goroutine.
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
func (j *session) root() string {
	if j.topic != "" {
		return topicsPath + "/" + pathEscape(j.topic)
	}
	return j.site.prefix
}

func (j *session) taskPath(rest string) string {
	return j.root() + "/tasks/" + url.PathEscape(j.remote) + rest
}

// known asks whether the agent still has the task. An error means that it could not be found out.
func (j *session) known() (bool, error) {
	ans, err := j.get(j.ctx, j.taskPath(""), "")
	switch {
	case err != nil:
		return false, err
	case ans.Status/100 == 2:
		return true, nil
	case ans.Status == http.StatusNotFound,
		(ans.Status == http.StatusBadRequest || ans.Status >= 500) && notFound.Match(ans.Body),
		ans.Status == http.StatusInternalServerError && j.site.kind == kindForge:
		return false, nil
	}
	return false, j.refused(ans)
}

// mostSteps is how many steps a run may have where nothing sets a limit: nothing else ends an agent that never says
// that it is done.
const mostSteps = 100

// stepLimit is how many steps the run may have. A run that was planned while the agent was away may have no limit.
func (j *session) stepLimit() int {
	return cmp.Or(j.assigned.Run.Options.MaxSteps, mostSteps)
}

// encode is a file as it stands in the state; content is nil for one that is too large for it.
func (j *session) encode(a mapping.Artifact, content []byte) json.RawMessage {
	if content == nil {
		return rule.EncodeReference(a, j.assigned.Files.Path(a.ID))
	}
	return rule.EncodeFile(a, content, rule.FileStyle(j.up.Config.Artifacts.Style))
}

// link tells what the agent calls the task, and which of its steps are logged.
func (j *session) link(steps []string) error {
	link := &mapping.Link{
		Agent: j.up.Name, TaskID: j.assigned.TaskID, Remote: j.remote, Topic: j.topic, Profile: j.site.profile(),
		Steps: append([]string(nil), steps...),
	}
	return j.emit(mapping.Event{Kind: mapping.KindLinked, Head: mapping.Head{Link: link}})
}

func (j *session) end(out mapping.Outcome) error {
	return j.emit(mapping.Event{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &out}})
}

func (j *session) emit(ev mapping.Event) error {
	ev.RunID = j.assigned.Run.ID
	if !j.yield(ev, nil) {
		return errUnwanted
	}
	return nil
}

// breakOff yields why the run cannot go on.
func (j *session) breakOff(err error) { j.yield(mapping.Event{}, mapping.Classify(err)) }

// lookFor asks until something is found, or for as long as it was seen to take. What is seen over a restart of the
// bridge may be its time, and is bounded by step_timeout.
func (j *session) lookFor(longest time.Duration, look func() (found bool, err error)) (found bool, err error) {
	over := time.Now().Add(min(max(longest, j.settle), j.stepTimeout()))
	for wait := pollMin; ; wait = min(wait*2, pollMax) {
		if found, err = look(); found || err != nil {
			return found, err
		}
		rest := time.Until(over)
		if rest <= 0 {
			return false, nil
		}
		if err := await(j.ctx, min(wait, rest)); err != nil {
			return false, err
		}
	}
}
