package backend

import (
	"errors"
	"net/http"
	"time"

	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// stepCall requests the agent's next step.
type stepCall struct {
	*runState
	past *history
}

// send requests the step and records the duration, or the time that a gateway waited for it. If upstream.MayHaveActed
// holds for the error, the step may have been done.
func (c *stepCall) send() (*remoteStep, error) {
	begun, words := time.Now(), c.words()
	ans, err := c.execute(words)
	if !upstream.Is(err, upstream.Broken) {
		c.past.longest = max(c.past.longest, time.Since(begun))
	}
	if err != nil {
		return nil, err
	}
	return c.read(ans, words)
}

// words returns the input of the next step. If it is nil, the POST has no body, which every server interprets as
// "continue". An answer is sent with the first step of its run.
func (c *stepCall) words() *string {
	switch {
	case c.past.said:
		return nil
	case c.assigned.StepText != nil:
		return c.assigned.StepText
	case c.assigned.Resume && !c.assigned.Task.Answer.Continue && c.past.inRun == 0:
		return &c.assigned.Task.Answer.Text
	}
	return nil
}

// execute sends the request (Agent Protocol v1, POST …/tasks/{id}/steps).
func (c *stepCall) execute(words *string) (*upstream.Answer, error) {
	var body *rawjson.Pieces
	if words != nil {
		body = new(rawjson.Pieces).Literal(`{"input":`).Text(*words).Literal("}")
	}
	ans, err := c.act(c.ctx, upstream.OpStep, c.taskPath("/steps"), body)
	if errors.Is(err, errTooLarge) {
		return nil, c.tooLarge()
	}
	return ans, err
}

// read returns the step in the response to a request with these words.
func (c *stepCall) read(ans *upstream.Answer, words *string) (*remoteStep, error) {
	if ans.Status/100 != 2 {
		return nil, c.refusal(ans)
	}
	step, err := parseStep(ans.Body, "")
	if err != nil {
		return nil, c.unreadable("POST steps", ans, err)
	}
	if step.TaskID != "" && step.TaskID != c.remote {
		return nil, c.fail(mapping.CodeBadUpstream, "answered with a step of another task: task_id is %q, not %q.",
			c.excerpt(step.TaskID, 80), c.excerpt(c.remote, 80))
	}
	step.input, c.past.said = words, true
	return step, nil
}

// refusal distinguishes a task that no longer exists from a step that failed. Many servers respond with 500 in both
// cases.
func (c *stepCall) refusal(ans *upstream.Answer) error {
	if ans.Status == http.StatusNotFound {
		return c.lost(c.remote)
	}
	if ans.Status >= 500 || ans.Status == http.StatusBadRequest {
		if known, err := c.known(); err == nil && !known {
			return c.lost(c.remote)
		} else if c.ctx.Err() != nil {
			return stopReason(c.ctx)
		}
	}
	return c.refused(ans)
}
