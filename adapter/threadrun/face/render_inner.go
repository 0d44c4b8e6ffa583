package face

import (
	"encoding/json"

	"github.com/apbridge/apbridge/mapping"
)

// This file makes the frames that tell of an agent's inner life (tasks,
// checkpoints, debug, events) for task/step agents, which have none: the
// bridge is their graph of one node, run once per step.

func (v *view) point() mapping.Checkpoint {
	if cp := v.e.Head.Checkpoint; cp != nil {
		return *cp
	}
	return mapping.Checkpoint{}
}

// checkpoint is {values, metadata, next}.
func (v *view) checkpoint() []byte {
	var e enc
	e.open('{').key("values").raw(v.e.After.JSON(), "{}").key("metadata")
	v.checkpointMetadata(&e)
	e.key("next").strs(v.nextNodes()).close('}')
	return e.b
}

func (v *view) nextNodes() []string {
	if v.e.Head.Next != nil {
		return v.e.Head.Next
	}
	return v.point().Next
}

func (v *view) checkpointMetadata(e *enc) {
	cp := v.point()
	if len(cp.Metadata) > 0 {
		e.raw(cp.Metadata, "{}")
		return
	}
	e.open('{').key("source").str(cp.Source).key("step").int(cp.Step)
	e.key("run_id").str(v.e.RunID).key("thread_id").str(v.run.ThreadID).key("parents").lit("{}").close('}')
}

// taskID is the id of the state task that ran: it stood in the checkpoint
// before this one.
func (v *view) taskID() string { return mapping.StateTaskID(v.point().Parent) }

// task is a task that starts: the state before it is its input.
func (v *view) task() []byte {
	var e enc
	e.open('{').key("id").str(v.taskID()).key("name").str(v.e.Head.Node)
	e.key("input").raw(v.e.Before.JSON(), "{}").key("triggers").strs([]string{"branch:to:" + v.e.Head.Node})
	e.key("interrupts").lit("[]").close('}')
	return e.b
}

// taskResult is the same task when it is done.
func (v *view) taskResult() []byte {
	var e enc
	e.open('{').key("id").str(v.taskID()).key("name").str(v.e.Head.Node).key("error").lit("null")
	e.key("result").raw(v.e.Data, "{}").key("interrupts")
	encodeInterrupts(&e, v.e.Head.Interrupts)
	e.close('}')
	return e.b
}

func (v *view) debug(kind string, payload []byte) []byte {
	var e enc
	e.open('{').key("step").int(v.point().Step).key("type").str(kind)
	e.key("timestamp").time(v.e.At).key("payload").raw(payload, "{}").close('}')
	return e.b
}

func (v *view) debugCheckpoint() []byte {
	cp := v.point()
	var e enc
	e.open('{').key("config").open('{').key("configurable").open('{').key("thread_id").str(v.run.ThreadID)
	e.key("checkpoint_ns").str("").key("checkpoint_id").str(cp.ID).key("run_id").str(v.e.RunID).close('}').close('}')
	e.key("values").raw(v.e.After.JSON(), "{}").key("metadata")
	v.checkpointMetadata(&e)
	e.key("next").strs(v.nextNodes()).key("tasks").lit("[]").close('}')
	return v.debug("checkpoint", e.b)
}

// chainEvent is a LangChain event of the run itself or of one step.
func (v *view) chainEvent(event, name, key string, data json.RawMessage) []byte {
	var e enc
	e.open('{').key("event").str(event).key("name").str(name).key("run_id").str(v.e.RunID)
	e.key("tags").lit("[]").key("metadata").open('{').key("run_id").str(v.e.RunID)
	e.key("thread_id").str(v.run.ThreadID).close('}').key("data").open('{')
	if key != "" {
		e.key(key).raw(data, "null")
	}
	e.close('}').close('}')
	return e.b
}
