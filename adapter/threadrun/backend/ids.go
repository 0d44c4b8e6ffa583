package backend

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
)

// idKey is the end of the member names for the id of a run, thread, assistant or graph.
var idKey = []byte(`_id"`)

// names replaces the agent's ids with the bridge's.
type names struct {
	*job
	points checkpointIDs
	newest string // the bridge's id of the newest checkpoint, if it was chosen here
	before string // the bridge's id of the one before it, which may be older than the run
}

// newNames returns the names of a run. If the run is continued, it starts with the newest checkpoint in the log.
func newNames(j *job) names {
	n := names{job: j}
	for _, ev := range mapping.NewestAttempt(j.t.After) {
		if cp := ev.Head.Checkpoint; cp != nil {
			n.newest = cp.ID
		}
	}
	return n
}

// own replaces the ids of the upstream run, thread, assistant and graph, and of the older checkpoint at which the run
// began, with the bridge's ids. Clients send these ids back, and the bridge only knows its own. The agent's state is
// not changed, except for its copies in debug and events frames. own may overwrite data, because ids of equal length,
// such as UUIDs, are replaced in place.
func (n *names) own(data json.RawMessage) json.RawMessage {
	for at := 0; ; {
		hit := bytes.Index(data[at:], idKey)
		if hit < 0 {
			return data
		}
		at += hit + len(idKey)
		theirs, ours := n.pair(keyBefore(data, at))
		start := valueAfter(data, at)
		if theirs == "" || ours == "" || start < 0 || !isText(data[start:], theirs) {
			continue
		}
		if from, to := start+1, start+1+len(theirs); len(theirs) == len(ours) {
			copy(data[from:to], ours)
		} else {
			data = bytes.Join([][]byte{data[:from], data[to:]}, []byte(ours))
		}
	}
}

// pair returns the agent's and the bridge's id for a member.
func (n *names) pair(key string) (theirs, ours string) {
	switch key {
	case "run_id":
		return n.link.RemoteRun, n.t.Run.ID
	case "thread_id":
		return n.link.Remote, n.t.Thread.ID
	case "assistant_id":
		return n.target.id, n.t.Run.AssistantID
	case "graph_id":
		return n.target.graph, n.t.Run.Agent
	case "checkpoint_id": // of the run's configurable
		if fork := n.t.Graph.Fork; fork != nil {
			return fork.Checkpoint, n.t.Run.Base
		}
	}
	return "", ""
}

// keyBefore returns the string whose closing quote is before end.
func keyBefore(data []byte, end int) string {
	return string(data[bytes.LastIndexByte(data[:end-1], '"')+1 : end-1])
}

// valueAfter returns the position of the value of a member whose name ends at at, or -1 if no member name ends there.
func valueAfter(data []byte, at int) int {
	colon := skipSpace(data, at)
	if colon == len(data) || data[colon] != ':' {
		return -1
	}
	return skipSpace(data, colon+1)
}

func skipSpace(data []byte, at int) int {
	for at < len(data) && (data[at] == ' ' || data[at] == '\t' || data[at] == '\n' || data[at] == '\r') {
		at++
	}
	return at
}

// isText reports whether data begins with the JSON string of text.
func isText(data []byte, text string) bool {
	n := len(text)
	return len(data) > n+1 && data[0] == '"' && string(data[1:n+1]) == text && data[n+1] == '"'
}

// checkpointIDs holds pairs of the agent's and the bridge's id of the same checkpoint, newest last. Frames refer only
// to the newest few and to those at which the run began.
type checkpointIDs [][2]string

const (
	pointsKept = 6
	firstKept  = 2
)

func (p *checkpointIDs) note(theirs, ours string) {
	if theirs == "" || ours == "" || slices.ContainsFunc(*p, func(known [2]string) bool { return known[0] == theirs }) {
		return
	}
	if *p = append(*p, [2]string{theirs, ours}); len(*p) > pointsKept {
		*p = slices.Delete(*p, firstKept, firstKept+1)
	}
}

// ownPoints replaces the ids of root checkpoints in a debug frame, and the id of the earlier run that created the
// checkpoint. The debug frame of a checkpoint follows its state. It is the only frame with the agent's ids of the
// newest checkpoint and of the one before.
func (n *names) ownPoints(root bool, step int, data json.RawMessage) json.RawMessage {
	type point struct {
		ID string `json:"checkpoint_id"`
	}
	var told struct {
		Type    string `json:"type"`
		Step    int    `json:"step"`
		Payload struct {
			Checkpoint point          `json:"checkpoint"`
			Parent     point          `json:"parent_checkpoint"`
			Metadata   checkpointMeta `json:"metadata"`
		} `json:"payload"`
	}
	if root && json.Unmarshal(data, &told) == nil && told.Type == "checkpoint" && told.Step == step {
		n.points.note(told.Payload.Parent.ID, n.before)
		n.points.note(told.Payload.Checkpoint.ID, n.newest)
		if made := told.Payload.Metadata; made.RunID != "" && made.Ours != "" {
			data = bytes.ReplaceAll(data, quoted(made.RunID), quoted(made.Ours))
		}
	}
	for _, p := range n.points {
		data = bytes.ReplaceAll(data, quoted(p[0]), quoted(p[1]))
	}
	return data
}

func quoted(id string) []byte { return []byte(`"` + id + `"`) }

// pointID returns the id of a checkpoint that debug frames will name. If it is "", the engine chooses the id.
func (n *names) pointID() string {
	if !slices.Contains(n.t.Run.Options.StreamModes, "debug") {
		n.newest = ""
		return ""
	}
	n.before, n.newest = cmp.Or(n.newest, n.t.Run.Base), mapping.NewID()
	return n.newest
}

// startsAt records the next checkpoint that debug frames will name. It is ours, unless another one precedes the
// checkpoints of the run.
func (n *names) startsAt(ours string) {
	if n.newest == "" {
		n.before, n.newest = n.t.Graph.BaseParent, ours
	}
}

// metadata returns the agent's metadata of a checkpoint, without the bridge's members.
func (n *names) metadata(data json.RawMessage) json.RawMessage {
	return rule.AgentMetadata(n.own(data), runKey, threadKey, firstKey)
}

// stateEvent returns the event for a state that was read rather than streamed. The event creates a checkpoint.
func (n *names) stateEvent(st stateWire, source string) mapping.Event {
	var meta checkpointMeta
	_ = json.Unmarshal(st.Metadata, &meta)
	next := nonNil(st.Next)
	return mapping.Event{Kind: mapping.KindState, Data: st.Values, Head: mapping.Head{
		Full: true, Next: next,
		Checkpoint: &mapping.Checkpoint{Source: cmp.Or(source, cmp.Or(meta.Source, "loop")), Step: meta.Step, Next: next,
			Tasks: n.own(bytes.Clone(st.Tasks)), Remote: st.head(), RemoteThread: n.link.Remote, RunID: n.t.Run.ID,
			Metadata: n.metadata(bytes.Clone(st.Metadata))},
	}}
}
