package render

import (
	"encoding/json"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
)

// This file makes the frames that tell of an agent's inner life (tasks,
// checkpoints, debug, events) for task/step agents, which have none: the
// bridge is their graph of one node, run once per step.

func (v *View) point() mapping.Checkpoint {
	if cp := v.e.Head.Checkpoint; cp != nil {
		return *cp
	}
	return mapping.Checkpoint{}
}

// checkpoint is {values, metadata, next}.
func (v *View) checkpoint() []byte {
	var e rawjson.Writer
	e.Open('{').Key("values").Raw(v.e.After.JSON(), "{}").Key("metadata")
	v.checkpointMetadata(&e)
	e.Key("next").Texts(v.nextNodes()).Close('}')
	return e.Bytes
}

func (v *View) nextNodes() []string {
	if v.e.Head.Next != nil {
		return v.e.Head.Next
	}
	return v.point().Next
}

func (v *View) checkpointMetadata(e *rawjson.Writer) {
	cp := v.point()
	if len(cp.Metadata) > 0 {
		e.Raw(cp.Metadata, "{}")
		return
	}
	e.Open('{').Key("source").Text(cp.Source).Key("step").Int(int64(cp.Step))
	e.Key("run_id").Text(v.e.RunID).Key("thread_id").Text(v.Run.ThreadID).Key("parents").Literal("{}").Close('}')
}

// taskID is the id of the state task that ran: it stood in the checkpoint
// before this one.
func (v *View) taskID() string { return mapping.StateTaskID(v.point().Parent) }

// task is a task that starts: the state before it is its input.
func (v *View) task() []byte {
	var e rawjson.Writer
	e.Open('{').Key("id").Text(v.taskID()).Key("name").Text(v.e.Head.Node)
	e.Key("input").Raw(v.e.Before.JSON(), "{}").Key("triggers").Texts([]string{"branch:to:" + v.e.Head.Node})
	e.Key("interrupts").Literal("[]").Close('}')
	return e.Bytes
}

// taskResult is the same task when it is done.
func (v *View) taskResult() []byte {
	var e rawjson.Writer
	e.Open('{').Key("id").Text(v.taskID()).Key("name").Text(v.e.Head.Node).Key("error")
	if fault := rule.FaultOf(v.e.Event); fault != "" {
		e.Text(fault)
	} else {
		e.Literal("null")
	}
	e.Key("result").Raw(v.e.Data, "{}").Key("interrupts")
	rule.WriteInterrupts(&e, v.e.Head.Interrupts)
	e.Close('}')
	return e.Bytes
}

func (v *View) debug(kind string, payload []byte) []byte {
	var e rawjson.Writer
	e.Open('{').Key("step").Int(int64(v.point().Step)).Key("type").Text(kind)
	e.Key("timestamp").Time(v.e.At, TimeLayout).Key("payload").Raw(payload, "{}").Close('}')
	return e.Bytes
}

func (v *View) debugCheckpoint() []byte {
	cp := v.point()
	var e rawjson.Writer
	e.Open('{').Key("config").Open('{').Key("configurable").Open('{').Key("thread_id").Text(v.Run.ThreadID)
	e.Key("checkpoint_ns").Text("").Key("checkpoint_id").Text(cp.ID).Key("run_id").Text(v.e.RunID).Close('}').Close('}')
	e.Key("values").Raw(v.e.After.JSON(), "{}").Key("metadata")
	v.checkpointMetadata(&e)
	e.Key("next").Texts(v.nextNodes()).Key("tasks").Literal("[]").Close('}')
	return v.debug("checkpoint", e.Bytes)
}

// chainEvent is a LangChain event of the run itself or of one step.
func (v *View) chainEvent(event, name, key string, data json.RawMessage) []byte {
	var e rawjson.Writer
	e.Open('{').Key("event").Text(event).Key("name").Text(name).Key("run_id").Text(v.e.RunID)
	e.Key("tags").Literal("[]").Key("metadata").Open('{').Key("run_id").Text(v.e.RunID)
	e.Key("thread_id").Text(v.Run.ThreadID)
	if v.e.Kind == mapping.KindUpdate {
		e.Key("langgraph_node").Text(v.e.Head.Node).Key("langgraph_step").Int(int64(v.point().Step))
	}
	e.Close('}').Key("data").Open('{')
	if key != "" {
		e.Key(key).Raw(data, "null")
	}
	e.Close('}').Close('}')
	return e.Bytes
}
