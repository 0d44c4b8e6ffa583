package backend

import (
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

func (d *drive) taskPath(rest string) string {
	return d.root() + "/tasks/" + url.PathEscape(d.remote) + rest
}

// next is the next step: one the agent did already, or one it does now.
func (d *drive) next() (remoteStep, error) {
	if len(d.queue) == 0 && d.behind {
		return remoteStep{}, d.notListed(nil)
	}
	if len(d.queue) == 0 {
		begun := time.Now()
		step, err := d.step(d.words())
		if !upstream.Is(err, upstream.Broken) {
			d.longest = max(d.longest, time.Since(begun))
			return step, err
		}
		if d.queue, err = d.resolve(err); err != nil {
			return remoteStep{}, err
		}
	}
	step := d.queue[0]
	d.queue = d.queue[1:]
	step.input = d.words()
	d.said = true
	return step, nil
}

// words is what the next step is driven with; nil is a POST without a body,
// which every server reads as "go on". An answer goes with the first step of
// the run that brings it.
func (d *drive) words() *string {
	switch {
	case d.said:
		return nil
	case d.task.Say != nil:
		return d.task.Say
	case d.task.Resume && !d.task.Answer.Continue && d.inRun == 0:
		return &d.task.Answer.Text
	}
	return nil
}

// step has one step executed (Agent Protocol v1, POST …/tasks/{id}/steps).
func (d *drive) step(words *string) (remoteStep, error) {
	var body *rawjson.Pieces
	if words != nil {
		body = new(rawjson.Pieces).Literal(`{"input":`).Text(*words).Literal("}")
	}
	ans, err := d.post(d.ctx, upstream.OpStep, d.taskPath("/steps"), body)
	if errors.Is(err, errTooLarge) {
		return remoteStep{}, d.tooLarge()
	} else if err != nil {
		return remoteStep{}, err
	}
	if ans.Status/100 != 2 {
		return remoteStep{}, d.stepRefused(ans)
	}
	step, err := parseStep(ans.Body, "")
	if err != nil {
		return remoteStep{}, d.unreadable("POST steps", ans, err)
	}
	if step.TaskID != "" && step.TaskID != d.remote {
		return remoteStep{}, d.fail(mapping.CodeBadUpstream, "answered with a step of another task: task_id is %q, not %q.",
			d.redact(clip(step.TaskID, 80)), d.redact(clip(d.remote, 80)))
	}
	step.input, d.said = words, true
	return step, nil
}

// stepRefused tells a task that is gone from a step that failed: many servers
// answer both with a 500.
func (d *drive) stepRefused(ans *upstream.Answer) error {
	if ans.Status == http.StatusNotFound {
		return d.lost(d.remote)
	}
	if ans.Status >= 500 || ans.Status == http.StatusBadRequest {
		if known, err := d.known(); err == nil && !known {
			return d.lost(d.remote)
		} else if d.ctx.Err() != nil {
			return ended(d.ctx)
		}
	}
	return d.refused(ans)
}

// known asks whether the agent still has the task. An error means that it
// could not be found out.
func (d *drive) known() (bool, error) {
	ans, err := d.get(d.ctx, d.taskPath(""), "")
	switch {
	case err != nil:
		return false, err
	case ans.Status/100 == 2:
		return true, nil
	case ans.Status == http.StatusNotFound,
		(ans.Status == http.StatusBadRequest || ans.Status >= 500) && notFound.Match(ans.Body),
		ans.Status == http.StatusInternalServerError && d.site.kind == kindForge:
		return false, nil
	}
	return false, d.refused(ans)
}
