package backend

import (
	"bytes"
	"encoding/json"
	"slices"
)

// trace searches for the task with this run's id, whose creation was or may have been sent. cause is the error of the
// call, or nil after a restart.
func (c *creation) trace(cause error) error {
	found, err := c.lookFor(c.backend.created.Max(), c.findTask)
	switch {
	case c.ctx.Err() != nil:
		return stopReason(c.ctx)
	case err != nil:
		return c.unknown("create a task", "it cannot be asked whether it did", cause, err)
	case !found:
		return c.unknown("create a task", "its list of tasks does not show it", cause, nil)
	}
	return nil
}

// findTask searches for the task once.
func (c *creation) findTask() (found bool, err error) {
	elems, _, err := c.list(c.root()+"/tasks", "tasks")
	for _, elem := range slices.Backward(elems) {
		if t, err := parseTask(elem, "tasks[]."); err == nil && c.made(t) {
			c.adopt(t)
			return true, nil
		}
	}
	return false, err
}

// made reports whether a listed task was created for this run.
func (c *creation) made(t remoteTask) bool {
	if c.past.former[t.ID] || !bytes.Contains(t.Additional, []byte(c.assigned.Run.ID)) {
		return false
	}
	var a struct {
		Apbridge struct {
			RunID string `json:"run_id"`
		} `json:"apbridge"`
	}
	return json.Unmarshal(t.Additional, &a) == nil && a.Apbridge.RunID == c.assigned.Run.ID
}
