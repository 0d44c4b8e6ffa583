package inspect

import (
	"context"
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
	{"GET", "/threads/{thread_id}/difference", looking, readsThread, (*inspector).serveDifference},
	{"GET", "/threads/{thread_id}/checkpoints/{checkpoint_id}", looking, readsThread, (*inspector).serveCheckpoint},
	{"GET", "/threads/{thread_id}/checkpoints/{checkpoint_id}/values", looking, readsThread, (*inspector).serveValues},
	{"GET", "/threads/{thread_id}/checkpoints/{checkpoint_id}/messages/{index}", looking, readsThread, (*inspector).serveMessage},
}

var (
	checkpointPage = newPage("checkpoint", "runs", "thread.css")
	differencePage = newPage("difference", "runs", "thread.css")
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

func (i *inspector) serveCheckpoint(w http.ResponseWriter, r *http.Request) error {
	st, err := i.state(r, mux.Vars(r)["checkpoint_id"])
	if err != nil {
		return err
	}
	v := checkpointView{
		ThreadID: st.ThreadID, ID: st.Checkpoint, Parent: st.Parent, CreatedAt: st.CreatedAt, Next: st.Next,
		Metadata: pretty(st.Metadata), Values: pretty(st.Values), MayAct: mapping.PrincipalOf(r.Context()).Need(acting...) == nil,
	}
	if v.Agents, err = i.agents(r.Context()); err != nil {
		return err
	}
	for run, err := range i.Service.RunIndex.List(r.Context(), adapter.RunQuery{ThreadID: st.ThreadID, Limit: 1}) {
		if err != nil {
			return err
		}
		v.Agent = run.Agent
	}
	return i.show(w, r, checkpointPage, "Checkpoint "+v.ID, v)
}

// agents are those that the caller may have run.
func (i *inspector) agents(ctx context.Context) (names []string, err error) {
	list, _, err := i.Service.Agents.Search(ctx, adapter.AgentQuery{Limit: 200})
	names = []string{}
	for _, a := range list {
		if a.Configured {
			names = append(names, a.Graph)
		}
	}
	return names, err
}

func (i *inspector) state(r *http.Request, checkpoint string) (adapter.ThreadState, error) {
	return i.Service.States.Get(r.Context(), mux.Vars(r)["thread_id"], checkpoint)
}

func (i *inspector) serveValues(w http.ResponseWriter, r *http.Request) error {
	st, err := i.state(r, mux.Vars(r)["checkpoint_id"])
	if err != nil {
		return err
	}
	return raw(w, "application/json", "values-"+st.Checkpoint+".json", st.Values)
}

func (i *inspector) serveMessage(w http.ResponseWriter, r *http.Request) error {
	index, err := strconv.Atoi(mux.Vars(r)["index"])
	if err != nil {
		index = -1
	}
	st, err := i.state(r, mux.Vars(r)["checkpoint_id"])
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

// serveDifference compares two checkpoints of a thread; without from the one before to.
func (i *inspector) serveDifference(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	to, err := i.state(r, q.Get("to"))
	if err != nil {
		return err
	}
	v := differenceView{ThreadID: to.ThreadID, From: q.Get("from"), To: to.Checkpoint, Changes: []changeRow{}}
	if v.From == "" {
		v.From = to.Parent
	}
	from := adapter.ThreadState{Values: []byte("{}")}
	if v.From != "" {
		if from, err = i.state(r, v.From); err != nil {
			return err
		}
	}
	list, more := difference.Of(from.Values, to.Values, changesShown)
	v.More = more
	for _, c := range list {
		v.Changes = append(v.Changes, changeRow{c.Path, c.Kind, pretty(c.Before), pretty(c.After)})
	}
	return i.show(w, r, differencePage, "Difference", v)
}
