package adaptertest

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// This file handles the states of graphs within the scripted agent's graph, as version 1.5.1 of the JavaScript
// LangGraph server does.

// Namespaces of InnerPlay: the graph of the node "middle", and the graph of the node "bottom" within it.
const (
	MiddleNS = "middle:83ead7bf-0621-5d7d-a143-7e1daa873a81"
	BottomNS = MiddleNS + "|bottom:505c981d-cabf-57a6-8393-36383538e2fd"
)

const (
	deepID     = "b79664f43ea34aad6fa943326f5432a3"
	deepAsking = `[{"id":"` + deepID + `","value":"How deep?"}]`
)

// innerTask returns an entry of a state's tasks. If the task is a graph, either state is its state, or checkpoint
// contains its namespace.
func innerTask(ns, interrupts, checkpoint, state string) string {
	at := strings.LastIndexByte(ns, '|') + 1
	name, id, _ := strings.Cut(ns[at:], ":")
	return `{"id":"` + id + `","name":"` + name + `","error":null,"interrupts":` + interrupts +
		`,"path":["__pregel_pull","` + name + `"],"checkpoint":` + checkpoint + `,"state":` + state + `,"result":null}`
}

func namespaced(ns string) string {
	return `{"thread_id":"{{thread}}","checkpoint_ns":"` + ns + `"}`
}

// InnerAnswer returns the state of a graph within the agent's graph at one of its own checkpoints.
func InnerAnswer(ns, id, values, next, tasks, step string) string {
	return `{"values":` + values + `,"next":` + next + `,"tasks":` + tasks +
		`,"metadata":{"graph_id":"agent","assistant_id":"fe096781-5601-53d2-b2f6-0d3403f7e9ca","thread_id":"{{thread}}","run_id":"{{run}}","checkpoint_ns":"` + ns +
		`","source":"loop","step":` + step + `,"parents":{"":"{{checkpoint}}"}},"created_at":"2026-11-28T17:45:26.129Z",` +
		`"checkpoint":{"thread_id":"{{thread}}","checkpoint_id":"` + id + `","checkpoint_ns":"` + ns + `","checkpoint_map":{"":"{{checkpoint}}","` + ns + `":"` + id + `"}},` +
		`"parent_checkpoint":null}`
}

// InnerPlay asks in a graph that is nested two levels deep. With subgraphs its stream includes the frames of nested
// graphs.
func InnerPlay(subgraphs bool) ThreadPlay {
	deep := func(id, next, task, step string) string {
		return InnerAnswer(BottomNS, id, messages(human, one), `["`+next+`"]`, `[`+innerTask(task, cmp.Or(map[string]string{"question": deepAsking}[next], "[]"), "null", "null")+`]`, step)
	}
	const question, think = BottomNS + "|question:f0055fb8-0c44-507a-9b14-7b1ac5852ba4", BottomNS + "|think:5df73160-b068-5470-b737-5ab690d11080"
	bottom := []string{
		deep("1f1eb537-e878-66a0-8001-1d1c70881edc", "question", question, "1"),
		deep("1f1eb537-e84a-6070-8000-302b763e3353", "think", think, "0"),
	}
	middle := func(checkpoint, state string) string {
		return InnerAnswer(MiddleNS, "1f1eb537-e702-6e10-8001-c87783d0a531", messages(human, one), `["bottom"]`,
			`[`+innerTask(BottomNS, deepAsking, checkpoint, state)+`]`, "1")
	}
	root := func(checkpoint, state string) string {
		st := stateAnswer(messages(human), `["middle"]`, `[`+innerTask(MiddleNS, deepAsking, checkpoint, state)+`]`, "0")
		return strings.ReplaceAll(st, `"metadata":{"graph_id"`, `"metadata":{"apbridge_run_id":"{{ours}}","graph_id"`) // servers include the run's metadata
	}
	play := ThreadPlay{
		Frames: []string{
			metadataFrame,
			checkpoint(messages(), "input", "-1", `["__start__"]`),
			`values ` + messages(human),
			checkpoint(messages(human), "loop", "0", `["middle"]`),
		},
		State: root(namespaced(MiddleNS), "null"),
		Deep:  root("null", middle("null", bottom[0])),
		Inner: map[string][]string{
			MiddleNS: {middle(namespaced(BottomNS), "null")},
			BottomNS: bottom,
		},
	}
	for _, ns := range []string{BottomNS, MiddleNS, ""} {
		if ns != "" && !subgraphs {
			continue
		}
		within := ""
		if ns != "" {
			within = "|" + ns
		}
		play.Frames = append(play.Frames, `updates`+within+` {"__interrupt__":`+deepAsking+`}`, `values`+within+` {"__interrupt__":`+deepAsking+`}`)
	}
	play.Frames = append(play.Frames, `tasks {"id":"83ead7bf-0621-5d7d-a143-7e1daa873a81","name":"middle","result":{},"interrupts":`+deepAsking+`}`)
	return play
}

// stateRequest contains the members of requests for states.
type stateRequest struct {
	Checkpoint struct {
		NS string `json:"checkpoint_ns"`
		ID string `json:"checkpoint_id"`
	} `json:"checkpoint"`
	Subgraphs json.RawMessage `json:"subgraphs"`
	Limit     int             `json:"limit"`
	Before    string          `json:"before"`
	Metadata  struct {
		RunID string `json:"run_id"`
		Step  *int   `json:"step"`
	} `json:"metadata"`
}

// stateMembers contains the members of a state that are read here.
type stateMembers struct {
	Checkpoint struct {
		ID string `json:"checkpoint_id"`
	} `json:"checkpoint"`
	Metadata struct {
		RunID string `json:"run_id"`
		Step  int    `json:"step"`
	} `json:"metadata"`
}

// past returns the states of a namespace, newest first. The lock must be held.
func (t *scriptedThread) past(ns string) (list []string) {
	for _, r := range slices.Backward(t.runs) {
		states := r.play.Inner[ns]
		if ns == "" {
			states = r.play.History
			if len(states) == 0 {
				states = []string{r.play.State}
			}
		}
		for _, s := range states {
			list = append(list, r.fill(s))
		}
	}
	return list
}

const noState = `{"values":{},"next":[],"tasks":[],"created_at":null,"checkpoint":null,"parent_checkpoint":null}`

// headState writes the newest state of the root.
func (a *ThreadAgent) headState(w http.ResponseWriter, r *http.Request, t *scriptedThread) {
	a.mu.Lock()
	state := t.state
	for _, run := range t.runs {
		if r.URL.Query().Get("subgraphs") == "true" && run.play.Deep != "" && run.fill(run.play.State) == state {
			state = run.fill(run.play.Deep)
		}
	}
	a.mu.Unlock()
	jsonBody(w, state)
}

// pastState returns the state at a checkpoint, or the newest one of a namespace.
func (a *ThreadAgent) pastState(t *scriptedThread, r *http.Request, body []byte) (answer string, status int) {
	var ask stateRequest
	_ = json.Unmarshal(body, &ask)
	if s := string(ask.Subgraphs); s == "true" || s == "false" {
		return `{"success":false,"error":{"name":"ZodError","issues":[{"path":["subgraphs"],"message":"Expected string, received boolean"}]}}`, http.StatusBadRequest
	}
	if parts := strings.Split(r.URL.Path, "/"); r.Method == http.MethodGet && len(parts) == 5 {
		ask.Checkpoint.ID = parts[4]
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	deep := r.URL.Query().Get("subgraphs") == "true"
	for _, s := range t.past(ask.Checkpoint.NS) {
		var told stateMembers
		_ = json.Unmarshal([]byte(s), &told)
		if ask.Checkpoint.ID != "" && told.Checkpoint.ID != ask.Checkpoint.ID {
			continue
		}
		for _, run := range t.runs {
			if deep && run.play.Deep != "" && run.fill(run.play.State) == s {
				return run.fill(run.play.Deep), http.StatusOK
			}
		}
		return s, http.StatusOK
	}
	return noState, http.StatusOK
}

func (a *ThreadAgent) history(t *scriptedThread, body []byte) string {
	ask := stateRequest{Limit: 10}
	_ = json.Unmarshal(body, &ask)
	a.mu.Lock()
	defer a.mu.Unlock()
	var list []string
	passed := ask.Before == ""
	for _, s := range t.past(ask.Checkpoint.NS) {
		var told stateMembers
		_ = json.Unmarshal([]byte(s), &told)
		switch {
		case !passed:
			passed = told.Checkpoint.ID == ask.Before
			continue
		case len(list) == ask.Limit,
			ask.Checkpoint.ID != "" && told.Checkpoint.ID != ask.Checkpoint.ID,
			ask.Metadata.RunID != "" && told.Metadata.RunID != ask.Metadata.RunID,
			ask.Metadata.Step != nil && told.Metadata.Step != *ask.Metadata.Step:
			continue
		}
		list = append(list, s)
	}
	return `[` + strings.Join(list, ",") + `]`
}

// updateInner changes the state of a graph within the agent's graph. It does not change the states of its parents.
func (a *ThreadAgent) updateInner(t *scriptedThread, ns string, values json.RawMessage) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	run := t.runs[len(t.runs)-1]
	const id = "1f1eb574-4784-61d0-8002-85f0e380df6d"
	run.play.Inner[ns] = append([]string{InnerAnswer(ns, id, string(values), `[]`, `[]`, "2")}, run.play.Inner[ns]...)
	return run.fill(`{"checkpoint":{"thread_id":"{{thread}}","checkpoint_ns":"` + ns + `","checkpoint_id":"` + id + `","checkpoint_map":{"":"{{checkpoint}}","` + ns + `":"` + id + `"}}}`)
}
