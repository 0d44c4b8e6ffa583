package render

import (
	"encoding/json"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
)

// This file creates the contents of frames. Task/step agents do not report tasks, checkpoints, debug frames and events,
// so these are created for them: the bridge presents such an agent as a graph of one node that runs once per step.

// content renders an event of a run for frames.
type content struct {
	Ref adapter.RunRef // of the run
	e   *state.Entry
}

func (c *content) point() mapping.Checkpoint {
	if cp := c.e.Head.Point(); cp != nil {
		return *cp
	}
	return mapping.Checkpoint{}
}

// checkpoint returns {values, metadata, next}.
func (c *content) checkpoint() []byte {
	var e rawjson.Writer
	e.Open('{').Key("values").Raw(c.e.After.JSON(), "{}").Key("metadata")
	c.checkpointMetadata(&e)
	e.Key("next").Texts(c.nextNodes()).Close('}')
	return e.Bytes
}

func (c *content) nextNodes() []string {
	if c.e.Head.Next != nil {
		return c.e.Head.Next
	}
	return c.point().Next
}

func (c *content) checkpointMetadata(e *rawjson.Writer) {
	cp := c.point()
	if len(cp.Metadata) > 0 {
		e.Raw(cp.Metadata, "{}")
		return
	}
	e.Open('{').Key("source").Text(cp.Source).Key("step").Int(int64(cp.Step))
	e.Key("run_id").Text(c.e.RunID).Key("thread_id").Text(c.Ref.ThreadID).Key("parents").Literal("{}").Close('}')
}

// taskID returns the id of the state task that ran, which the previous checkpoint announced.
func (c *content) taskID() string { return mapping.StateTaskID(c.point().Parent) }

// task returns a task at its start. Its input is the state before it.
func (c *content) task() []byte {
	var e rawjson.Writer
	e.Open('{').Key("id").Text(c.taskID()).Key("name").Text(c.e.Head.Node)
	e.Key("input").Raw(c.e.Before.JSON(), "{}").Key("triggers").Texts([]string{"branch:to:" + c.e.Head.Node})
	e.Key("interrupts").Literal("[]").Close('}')
	return e.Bytes
}

// taskResult returns the same task at its end.
func (c *content) taskResult() []byte {
	var e rawjson.Writer
	e.Open('{').Key("id").Text(c.taskID()).Key("name").Text(c.e.Head.Node).Key("error")
	if fault := rule.FaultOf(&c.e.Event); fault != "" {
		e.Text(fault)
	} else {
		e.Literal("null")
	}
	e.Key("result").Raw(c.e.Data, "{}").Key("interrupts")
	rule.WriteInterrupts(&e, c.e.Head.Interrupts)
	e.Close('}')
	return e.Bytes
}

func (c *content) debug(kind string, payload []byte) []byte {
	var e rawjson.Writer
	e.Open('{').Key("step").Int(int64(c.point().Step)).Key("type").Text(kind)
	e.Key("timestamp").Time(c.e.At, TimeLayout).Key("payload").Raw(payload, "{}").Close('}')
	return e.Bytes
}

func (c *content) debugCheckpoint() []byte {
	cp := c.point()
	var e rawjson.Writer
	e.Open('{').Key("config").Open('{').Key("configurable").Open('{').Key("thread_id").Text(c.Ref.ThreadID)
	e.Key("checkpoint_ns").Text("").Key("checkpoint_id").Text(cp.ID).Key("run_id").Text(c.e.RunID).Close('}').Close('}')
	e.Key("values").Raw(c.e.After.JSON(), "{}").Key("metadata")
	c.checkpointMetadata(&e)
	e.Key("next").Texts(c.nextNodes()).Key("tasks").Literal("[]").Close('}')
	return c.debug("checkpoint", e.Bytes)
}

// chainEvent returns a LangChain event of the run itself or of one step.
func (c *content) chainEvent(event, name, key string, data json.RawMessage) []byte {
	var e rawjson.Writer
	e.Open('{').Key("event").Text(event).Key("name").Text(name).Key("run_id").Text(c.e.RunID)
	e.Key("tags").Literal("[]").Key("metadata").Open('{').Key("run_id").Text(c.e.RunID)
	e.Key("thread_id").Text(c.Ref.ThreadID)
	if c.e.Kind == mapping.KindUpdate {
		e.Key("langgraph_node").Text(c.e.Head.Node).Key("langgraph_step").Int(int64(c.point().Step))
	}
	e.Close('}').Key("data").Open('{')
	if key != "" {
		e.Key(key).Raw(data, "null")
	}
	e.Close('}').Close('}')
	return e.Bytes
}

func (c *content) data() []byte { return c.e.Data }

func (c *content) values() []byte { return c.e.After.JSON() }

// updates returns {node: delta}. If several nodes ran in one step, the data already is that object, and the node's name
// is theirs joined with "+".
func (c *content) updates() []byte {
	node := c.e.Head.Node
	if strings.Contains(node, "+") && joinedKeys(c.e.Data) == node {
		return c.e.Data
	}
	var e rawjson.Writer
	e.Open('{').Name(node).Raw(c.e.Data, "null").Close('}')
	return e.Bytes
}

func (c *content) stepMetadata() []byte {
	var e rawjson.Writer
	e.Open('{').Key("langgraph_node").Text(c.e.Head.Node).Key("langgraph_step").Int(int64(c.point().Step))
	e.Key("run_id").Text(c.e.RunID).Key("thread_id").Text(c.Ref.ThreadID).Close('}')
	return e.Bytes
}

func joinedKeys(data []byte) string {
	members, err := rawjson.Members(data)
	if err != nil {
		return ""
	}
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = m.Name
	}
	return strings.Join(names, "+")
}
