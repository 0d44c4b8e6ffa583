package inspect

import (
	"net/http"
	"strconv"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/inspect/conversation"
	"github.com/apbridge/apbridge/adapter/inspect/difference"
	"github.com/apbridge/apbridge/mapping"
	"github.com/gorilla/mux"
)

var checkpointRoutes = []route{
	{"GET", "/threads/{thread_id}/difference", looking, readsThread, func(s *server) serve { return s.checkpoints.serveDifference }},
	{"GET", "/threads/{thread_id}/checkpoints/{checkpoint_id}", looking, readsThread, func(s *server) serve { return s.checkpoints.serveCheckpoint }},
	{"GET", "/threads/{thread_id}/checkpoints/{checkpoint_id}/values", looking, readsThread, func(s *server) serve { return s.checkpoints.serveValues }},
	{"GET", "/threads/{thread_id}/checkpoints/{checkpoint_id}/messages/{index}", looking, readsThread, func(s *server) serve { return s.checkpoints.serveMessage }},
}

var (
	checkpointHTML = newPage("checkpoint", "runs", "thread.css")
	differenceHTML = newPage("difference", "runs", "thread.css")
)

// changesShown is how many differences a page lists.
const changesShown = 100

// checkpointView is what the page of a checkpoint shows.
type checkpointView struct {
	ThreadID  string            `json:"thread_id"`
	ID        string            `json:"checkpoint_id"`
	Parent    string            `json:"parent,omitempty"`
	CreatedAt time.Time         `json:"created_at"`
	Next      []string          `json:"next"`
	Metadata  conversation.Text `json:"metadata"`
	Values    conversation.Text `json:"values"`
	Agents    []string          `json:"agents"` // that a run can be asked of
	Agent     string            `json:"agent"`  // of the thread's newest run
	MayAct    bool              `json:"-"`
}

// checkpointPages show the states of threads, and how they differ.
type checkpointPages struct {
	*renderer
	states stateReader
	runs   *threadRuns
	agents *agentNames
}

func (p *checkpointPages) serveCheckpoint(w http.ResponseWriter, r *http.Request) error {
	st, err := p.state(r, mux.Vars(r)["checkpoint_id"])
	if err != nil {
		return err
	}
	v := checkpointView{
		ThreadID: st.ThreadID, ID: st.Checkpoint, Parent: st.Parent, CreatedAt: st.CreatedAt, Next: st.Next,
		Metadata: pretty(st.Metadata), Values: pretty(st.Values), MayAct: mapping.PrincipalOf(r.Context()).Need(acting...) == nil,
	}
	for run, err := range p.runs.newest(r.Context(), st.ThreadID, 1) {
		if err != nil {
			return err
		}
		v.Agent = run.Agent
	}
	if v.Agents, err = p.agents.all(r.Context(), v.Agent); err != nil {
		return err
	}
	return p.show(w, r, checkpointHTML, "Checkpoint "+v.ID, v)
}

func (p *checkpointPages) state(r *http.Request, checkpoint string) (adapter.ThreadState, error) {
	return p.states.GetState(r.Context(), mux.Vars(r)["thread_id"], checkpoint)
}

func (p *checkpointPages) serveValues(w http.ResponseWriter, r *http.Request) error {
	st, err := p.state(r, mux.Vars(r)["checkpoint_id"])
	if err != nil {
		return err
	}
	return raw(w, "application/json", "values-"+st.Checkpoint+".json", st.Values)
}

func (p *checkpointPages) serveMessage(w http.ResponseWriter, r *http.Request) error {
	index, err := strconv.Atoi(mux.Vars(r)["index"])
	if err != nil {
		index = -1
	}
	st, err := p.state(r, mux.Vars(r)["checkpoint_id"])
	if err != nil {
		return err
	}
	m := conversation.Message(st.Values, index)
	if m == nil {
		return mapping.Errorf(mapping.NotFound, codeNotFound, "The state has no message with this index.")
	}
	return raw(w, "text/plain; charset=utf-8", "message-"+strconv.Itoa(index)+".json", m)
}

// differenceView is how one state differs from another of its thread.
type differenceView struct {
	ThreadID string      `json:"thread_id"`
	From     string      `json:"from"`
	To       string      `json:"to"`
	Changes  []changeRow `json:"changes"`
	More     bool        `json:"more,omitempty"` // there are more changes than are listed
}

type changeRow struct {
	Path   string            `json:"path"`
	Kind   difference.Kind   `json:"kind"`
	Before conversation.Text `json:"before"`
	After  conversation.Text `json:"after"`
}

// serveDifference compares two checkpoints of a thread; without from the one that precedes to.
func (p *checkpointPages) serveDifference(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	to, err := p.state(r, q.Get("to"))
	if err != nil {
		return err
	}
	v := differenceView{ThreadID: to.ThreadID, From: q.Get("from"), To: to.Checkpoint, Changes: []changeRow{}}
	if v.From == "" {
		v.From = to.Parent
	}
	from := adapter.ThreadState{Values: []byte("{}")}
	if v.From != "" {
		if from, err = p.state(r, v.From); err != nil {
			return err
		}
	}
	list, more := difference.Of(from.Values, to.Values, changesShown)
	v.More = more
	for _, c := range list {
		v.Changes = append(v.Changes, changeRow{c.Path, c.Kind, pretty(c.Before), pretty(c.After)})
	}
	return p.show(w, r, differenceHTML, "Difference", v)
}
