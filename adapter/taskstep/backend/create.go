package backend

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
)

// creation creates the agent's task, or finds the one whose creation an earlier process may have requested.
type creation struct {
	*runState
	past *history
}

// create creates the agent's task (Agent Protocol v1, POST /ap/v1/agent/tasks). Empty members are omitted, because
// forge rejects nulls. If upstream.MayHaveActed holds for the error, the task may exist.
func (c *creation) create() error {
	for moved := false; ; {
		if err := c.openTopic(); err != nil {
			return err
		}
		body, err := c.createBody()
		if err != nil {
			return err
		}
		begun := time.Now()
		ans, err := c.act(c.ctx, upstream.OpCreate, c.root()+"/tasks", body)
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
		c.backend.created.Observe(time.Since(begun))
		return c.accept(ans)
	}
}

// relocate probes for the routes again. The server may have been replaced since the first run.
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
			e.Message += " The run had no input; some agents need one."
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

// adopt uses a task for this run and derives the kind of the server from its shape.
func (c *creation) adopt(t remoteTask) {
	c.remote = t.ID
	if t.Kind != "" && t.Kind != c.site.kind {
		c.site.kind = t.Kind
		learned := c.site
		c.backend.site.Store(&learned)
	}
}

func (c *creation) createBody() (*rawjson.Pieces, error) {
	additional, err := additionalInput(c.assigned, int(c.up.Config.Memory.MaxBytes))
	if err != nil {
		return nil, err
	}
	if c.topic != "" {
		additional = displacing(additional)
	}
	var body rawjson.Pieces
	body.Literal("{")
	if prompt := c.prompt(); prompt != "" {
		body.Literal(`"input":`).Text(prompt).Literal(",")
	}
	return body.Literal(`"additional_input":`).Pieces(additional).Literal("}"), nil
}

// additionalInput returns the additional_input of a new task: the object that the task's client gave, the rest of an
// input object, members for the conversation and memory, and a mark of the bridge. If the creation is never answered,
// the task is found by that mark. budget bounds the messages in bytes; 0 means rule.PromptBudget.
func additionalInput(t *adapter.Assignment, budget int) (rawjson.Pieces, error) {
	var set []rawjson.Member
	if t.Input.Other != nil {
		set = append(set, rawjson.Member{Name: "input", Value: t.Input.Other})
	}
	mark, err := json.Marshal(struct {
		Run    string               `json:"run_id"`
		Thread string               `json:"thread_id"`
		Store  *adapter.StoreAccess `json:"store,omitempty"`
	}{t.Run.ID, t.Run.ThreadID, t.Memory.Store})
	if err != nil {
		return rawjson.Pieces{}, err
	}
	set = append(set, rawjson.Member{Name: rule.BridgeMember, Value: mark})
	items := rawjson.Member{Name: rule.ItemsMember} // without a value, a client's own member is removed
	if len(t.Memory.Items) > 0 {
		if items.Value, err = json.Marshal(t.Memory.Items); err != nil {
			return rawjson.Pieces{}, err
		}
	}
	set = append(set, items)
	if messages, _ := rule.Newest(rule.RoleMessages(t.Task.Messages), budget); len(messages) > 0 {
		list, err := json.Marshal(messages)
		if err != nil {
			return rawjson.Pieces{}, err
		}
		set = append(set, rawjson.Member{Name: "messages", Value: list})
	}
	return rawjson.PiecesWith(t.Task.Additional, set...)
}

// prompt returns the input of a new task. If the run has no prompt because it continues an older task, it returns the
// text of the input.
func (c *creation) prompt() string {
	if c.assigned.Task.Prompt == "" {
		return c.assigned.Input.Text
	}
	return c.assigned.Task.Prompt
}
