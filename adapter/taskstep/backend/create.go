package backend

import (
	"errors"
	"net/http"
	"time"

	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// create makes the agent's task (Agent Protocol v1, POST /ap/v1/agent/tasks), or finds
// the one that a process before may have had made. What is empty is left out: forge
// refuses nulls.
func (d *drive) create() error {
	if d.task.Open {
		d.found = true
		return d.findCreated(nil)
	}
	for moved := false; ; {
		if err := d.openTopic(); err != nil {
			return err
		}
		begun := time.Now()
		ans, err := d.post(d.ctx, upstream.OpCreate, d.root()+"/tasks", d.createBody())
		switch {
		case upstream.Is(err, upstream.Broken):
			return d.findCreated(err)
		case errors.Is(err, errTooLarge):
			return d.tooLarge()
		case err != nil:
			return err
		case ans.Status == http.StatusNotFound && d.topic != "" && !moved:
			moved = true
			d.loseTopic()
			continue
		case ans.Status == http.StatusNotFound && !moved:
			if moved, err = d.relocate(); moved {
				continue
			} else if err != nil {
				return err
			}
		}
		d.backend.created.Took(time.Since(begun))
		return d.created(ans)
	}
}

// relocate asks anew where the routes are; a server may have been replaced by
// another since the first run.
func (d *drive) relocate() (moved bool, err error) {
	before := d.site.prefix
	d.forget()
	if d.site, err = d.locate(d.ctx, ""); err != nil {
		return false, err
	}
	return d.site.prefix != before, nil
}

func (d *drive) created(ans *upstream.Answer) error {
	if ans.Status/100 != 2 {
		e := d.refused(ans)
		if d.prompt() == "" {
			e.Message += " The run gave it no input; some agents need one."
		}
		return e
	}
	t, err := parseTask(ans.Body, "")
	if err != nil {
		return d.unreadable("POST tasks", ans, err)
	}
	d.adopt(t)
	return nil
}

// adopt takes a task as this run's own and learns from its shape.
func (d *drive) adopt(t remoteTask) {
	d.remote = t.ID
	if t.Kind != "" && t.Kind != d.site.kind {
		d.site.kind = t.Kind
		learned := d.site
		d.backend.site.Store(&learned)
	}
}

func (d *drive) createBody() *rawjson.Pieces {
	var body rawjson.Pieces
	body.Literal("{")
	if prompt := d.prompt(); prompt != "" {
		body.Literal(`"input":`).Text(prompt).Literal(",")
	}
	return body.Literal(`"additional_input":`).Pieces(d.additional()).Literal("}")
}

// additional holds in any case the mark by which a task is found whose creation
// was never answered.
func (d *drive) additional() rawjson.Pieces {
	given := d.task.Additional
	if given.Len() == 0 {
		given.Literal(`{"apbridge":{"run_id":`).Text(d.task.Run.ID).Literal("}}")
	}
	if d.topic != "" {
		return displacing(given)
	}
	return given
}

// prompt is what a new task is told: without a prompt, which a run that went
// on with an older task does not have, the input's own words.
func (d *drive) prompt() string {
	if d.task.Prompt == "" {
		return d.task.Input.Text
	}
	return d.task.Prompt
}
