package backend

import (
	"errors"
	"net/http"
	"time"

	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// creation makes the agent's task, or finds the one that an earlier process may have had made.
type creation struct {
	*session
	past *history
}

// create makes the agent's task (Agent Protocol v1, POST /ap/v1/agent/tasks). What is empty is left out: forge refuses
// nulls. An error of which upstream.MayHaveActed holds leaves open whether there is a task.
func (c *creation) create() error {
	for moved := false; ; {
		if err := c.openTopic(); err != nil {
			return err
		}
		begun := time.Now()
		ans, err := c.act(c.ctx, upstream.OpCreate, c.root()+"/tasks", c.createBody())
		switch {
		case errors.Is(err, errTooLarge):
			return c.tooLarge()
		case err != nil:
			return err
		case ans.Status == http.StatusNotFound && c.topic != "" && !moved:
			moved = true
			c.loseTopic()
			continue
		case ans.Status == http.StatusNotFound && !moved:
			if moved, err = c.relocate(); moved {
				continue
			} else if err != nil {
				return err
			}
		}
		c.backend.created.Took(time.Since(begun))
		return c.accept(ans)
	}
}

// relocate asks anew where the routes are; a server may have been replaced by another since the first run.
func (c *creation) relocate() (moved bool, err error) {
	before := c.site.prefix
	c.forget()
	if c.site, err = c.locate(c.ctx, ""); err != nil {
		return false, err
	}
	return c.site.prefix != before, nil
}

func (c *creation) accept(ans *upstream.Answer) error {
	if ans.Status/100 != 2 {
		e := c.refused(ans)
		if c.prompt() == "" {
			e.Message += " The run gave it no input; some agents need one."
		}
		return e
	}
	t, err := parseTask(ans.Body, "")
	if err != nil {
		return c.unreadable("POST tasks", ans, err)
	}
	c.adopt(t)
	return nil
}

// adopt takes a task as this run's own and learns from its shape.
func (c *creation) adopt(t remoteTask) {
	c.remote = t.ID
	if t.Kind != "" && t.Kind != c.site.kind {
		c.site.kind = t.Kind
		learned := c.site
		c.backend.site.Store(&learned)
	}
}

func (c *creation) createBody() *rawjson.Pieces {
	var body rawjson.Pieces
	body.Literal("{")
	if prompt := c.prompt(); prompt != "" {
		body.Literal(`"input":`).Text(prompt).Literal(",")
	}
	return body.Literal(`"additional_input":`).Pieces(c.additional()).Literal("}")
}

// additional holds in any case the mark by which a task is found whose creation was never answered.
func (c *creation) additional() rawjson.Pieces {
	given := c.assigned.Additional
	if given.Len() == 0 {
		given.Literal(`{"apbridge":{"run_id":`).Text(c.assigned.Run.ID).Literal("}}")
	}
	if c.topic != "" {
		return displacing(given)
	}
	return given
}

// prompt is what a new task is told: without a prompt, which a run that went on with an older task does not have, the
// input's own words.
func (c *creation) prompt() string {
	if c.assigned.Prompt == "" {
		return c.assigned.Input.Text
	}
	return c.assigned.Prompt
}
