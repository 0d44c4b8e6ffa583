package backend

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
)

// idKey ends the members that name a run, thread, assistant or graph.
var idKey = []byte(`_id"`)

// names puts the bridge's own ids where the agent names its own.
type names struct {
	*job
	points checkpointIDs
	newest string // what the bridge calls the newest checkpoint, where it was named here
	before string // the one before it, which may be older than the run
}

// newNames returns the names of a run. One that is taken up again goes on from the newest checkpoint that it logged.
func newNames(j *job) names {
	n := names{job: j}
	for _, ev := range mapping.NewestAttempt(j.t.After) {
		if cp := ev.Head.Checkpoint; cp != nil {
			n.newest = cp.ID
		}
	}
	return n
}

// own is data in which those members that name the upstream run, thread, assistant and graph, and the older checkpoint
// that the run began at, name the bridge's: clients hand these ids back, and the bridge knows none but its own. The
// agent's state is not looked at, but for copies of it in frames of debug and events. Data is the caller's to give away:
// ids of equal length, as all UUIDs are, are written over.
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

// pair is what the agent and the bridge call what a member is about.
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

// keyBefore is the text whose closing quote lies before end.
func keyBefore(data []byte, end int) string {
	return string(data[bytes.LastIndexByte(data[:end-1], '"')+1 : end-1])
}

// valueAfter is where the value of a member begins whose key ends at, -1 where what ends there is no key.
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

// isText reports whether data begins with a JSON string of just this text.
func isText(data []byte, text string) bool {
	n := len(text)
	return len(data) > n+1 && data[0] == '"' && string(data[1:n+1]) == text && data[n+1] == '"'
}

// checkpointIDs are pairs of ids of the same checkpoint, the agent's and the bridge's, newest last. Frames refer only
// to the newest few, and to those where the run began.
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

// ownPoints is a debug frame in which checkpoints of the root are called as the bridge calls them. The frame of a
// checkpoint follows the state there, so that it tells what the agent calls the newest one and the one before; no other
// frame does. If an earlier run made the checkpoint, that is called as the bridge calls it, too.
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

// pointID is the id of a checkpoint that frames of debug will name; "" leaves it to the engine.
func (n *names) pointID() string {
	if !slices.Contains(n.t.Run.Options.StreamModes, "debug") {
		n.newest = ""
		return ""
	}
	n.before, n.newest = cmp.Or(n.newest, n.t.Run.Base), mapping.NewID()
	return n.newest
}

// startsAt notes the checkpoint that frames of debug name next: ours, unless another one came before the run's own.
func (n *names) startsAt(ours string) {
	if n.newest == "" {
		n.before, n.newest = n.t.Graph.BaseParent, ours
	}
}

// metadata is the agent's metadata of a checkpoint, without what the bridge has put there.
func (n *names) metadata(data json.RawMessage) json.RawMessage {
	return rule.AgentMetadata(n.own(data), runKey, threadKey, firstKey)
}

// stateEvent is a state that was read, not streamed; it makes a checkpoint.
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
