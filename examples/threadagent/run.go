package threadagent

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

type thread struct {
	ID          string
	Metadata    map[string]any
	Created     time.Time
	Busy        bool
	Checkpoints []checkpoint // oldest first
	Runs        []object

	run string // the one being executed
}

// checkpoint is the state after a step, and what comes next.
type checkpoint struct {
	ID, Source string
	RunID      string
	Step       int
	State      state
	Next       int // index into nodes; len(nodes) when the graph has ended
	TaskID     string
	Ask        *interrupt
	At         time.Time
}

// runRequest is what this agent understands of a run's body.
type runRequest struct {
	id             string
	AssistantID    string          `json:"assistant_id"`
	Input          json.RawMessage `json:"input"`
	Metadata       map[string]any  `json:"metadata"`
	StreamMode     names           `json:"stream_mode"`
	InterruptAfter names           `json:"interrupt_after"`
	CheckpointID   string          `json:"checkpoint_id"`
	Command        struct {
		Resume json.RawMessage `json:"resume"`
		Update *state          `json:"update"`
	} `json:"command"`
}

// names is one string or a list of them.
type names []string

func (n *names) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*n = names{one}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(n))
}

// head is the newest checkpoint; on an empty thread, the end of an empty run.
func (t *thread) head() checkpoint {
	if len(t.Checkpoints) == 0 {
		return checkpoint{Next: len(nodes), Step: -2, State: state{Messages: []message{}}}
	}
	return t.Checkpoints[len(t.Checkpoints)-1]
}

func (t *thread) save(c checkpoint) checkpoint {
	c.ID, c.TaskID, c.RunID, c.At, c.Step = newID(), newID(), t.run, time.Now().UTC(), t.head().Step+1
	t.Checkpoints = append(t.Checkpoints, c)
	return c
}

// execute runs the graph from where the thread stands and tells emit every
// frame: mode, then data.
func (t *thread) execute(r runRequest, emit func(mode string, data any)) error {
	t.run = r.id
	defer func() { t.run = "" }()
	now, resume, err := t.begin(r)
	if err != nil {
		return err
	}
	emit("checkpoints", now.frame())
	emit("values", now.State)
	for now.Next < len(nodes) {
		node := nodes[now.Next]
		emit("tasks", object{"id": now.TaskID, "name": node.name, "input": now.State, "triggers": []string{"branch:to:" + node.name}, "interrupts": []interrupt{}})
		delta, ask := node.run(now.State, resume)
		if resume = nil; ask != nil {
			t.Checkpoints[len(t.Checkpoints)-1].Ask = ask
			emit("tasks", object{"id": now.TaskID, "name": node.name, "result": object{}, "interrupts": []*interrupt{ask}})
			emit("updates", object{"__interrupt__": []*interrupt{ask}})
			emit("values", object{"__interrupt__": []*interrupt{ask}})
			return nil
		}
		t.speak(delta, node.name, now.Step+1, emit)
		emit("updates", object{node.name: delta})
		emit("tasks", object{"id": now.TaskID, "name": node.name, "result": delta, "interrupts": []interrupt{}})
		now = t.save(checkpoint{Source: "loop", State: now.State.merge(delta), Next: now.Next + 1})
		emit("values", now.State)
		emit("checkpoints", now.frame())
		if slices.Contains(r.InterruptAfter, "*") || slices.Contains(r.InterruptAfter, node.name) {
			return nil
		}
	}
	return nil
}

// begin makes the checkpoint a run starts from: new input starts the graph
// anew, without input it goes on.
func (t *thread) begin(r runRequest) (checkpoint, *string, error) {
	at := t.head()
	if r.CheckpointID != "" {
		i := slices.IndexFunc(t.Checkpoints, func(c checkpoint) bool { return c.ID == r.CheckpointID })
		if i < 0 {
			return at, nil, errUnknown("checkpoint " + r.CheckpointID)
		}
		if at.ID != r.CheckpointID {
			at = t.save(checkpoint{Source: "fork", State: t.Checkpoints[i].State, Next: t.Checkpoints[i].Next})
		}
	}
	if r.Command.Update != nil {
		at = t.save(checkpoint{Source: "update", State: at.State.merge(*r.Command.Update), Next: at.Next})
	}
	if len(r.Command.Resume) > 0 {
		words := message{Content: r.Command.Resume}.text()
		return at, &words, nil
	}
	if len(r.Input) == 0 || string(r.Input) == "null" {
		return at, nil, nil
	}
	var input state
	if err := json.Unmarshal(r.Input, &input); err != nil {
		return at, nil, err
	}
	return t.save(checkpoint{Source: "input", State: at.State.merge(input), Next: 0}), nil, nil
}

// speak streams the messages of a node word by word.
func (t *thread) speak(delta state, node string, step int, emit func(string, any)) {
	for _, m := range delta.Messages {
		for _, word := range strings.SplitAfter(m.text(), " ") {
			chunk := said(m.Type, word)
			chunk.ID = m.ID
			emit("messages-tuple", []any{chunk, object{"langgraph_node": node, "langgraph_step": step, "thread_id": t.ID}})
		}
	}
}

// frame is the data of a checkpoints frame.
func (c checkpoint) frame() object {
	return object{"values": c.State, "metadata": c.metadata(), "next": c.next()}
}

func (c checkpoint) metadata() object {
	return object{"source": c.Source, "step": c.Step, "run_id": c.RunID, "parents": object{}}
}

func (c checkpoint) next() []string {
	if c.Next >= len(nodes) {
		return []string{}
	}
	return []string{nodes[c.Next].name}
}
