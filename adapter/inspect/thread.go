package inspect

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/gorilla/mux"
)

var (
	threadHTML     = newPage("thread", "runs", "turn.html", "tree.html", "question.html", "turn.css", "thread.css", "thread.js")
	checkpointHTML = newPage("checkpoint", "runs", "turn.html", "turn.css", "thread.css", "live.js")
	differenceHTML = newPage("difference", "runs", "turn.html", "words.html", "turn.css", "thread.css", "live.js")
)

// Maximum numbers of list entries on a page, which shows the newest.
const (
	maxTurns      = 50
	maxThreadRuns = 50
	maxToldRuns   = 20 // runs whose agents received items
	maxToldItems  = 50 // of one run
)

type threadView struct {
	ThreadID     string               `json:"thread_id"`
	Status       mapping.ThreadStatus `json:"status"`
	Owner        string               `json:"owner"`
	CreatedAt    time.Time            `json:"created_at"`
	UpdatedAt    time.Time            `json:"updated_at"`
	Metadata     string               `json:"metadata"`
	Head         string               `json:"head"` // the checkpoint of the conversation
	Conversation conversation         `json:"conversation"`
	Questions    []openQuestion       `json:"questions"`
	Runs         []threadRun          `json:"runs"`
	Tree         tree                 `json:"tree"`
	Files        []pathView           `json:"files"`
	Told         []recalledRun        `json:"told"`
	Title        string               `json:"-"` // the beginning of the first request
	MayAct       bool                 `json:"-"`
	Mark         string               `json:"-"` // read first, so that followThread reports each later change
}

// Short returns the end of the thread's id.
func (v threadView) Short() string { return shortID(v.ThreadID) }

type openQuestion struct {
	questionForm
	RunID string `json:"run_id"`
	Agent string `json:"agent"`
}

type threadRun struct {
	RunID     string            `json:"run_id"`
	Agent     string            `json:"agent"`
	Request   string            `json:"request,omitempty"` // in words
	Status    mapping.RunStatus `json:"status"`
	Answered  bool              `json:"answered,omitempty"` // its question is no longer open
	Owner     string            `json:"owner"`
	Answers   bool              `json:"answers,omitempty"` // it answers a question
	CreatedAt time.Time         `json:"created_at"`
}

// Short returns the end of the run's id.
func (r threadRun) Short() string { return shortID(r.RunID) }

// State returns the status, or "answered".
func (r threadRun) State() string { return stateOfRun(r.Status, r.Answered) }

// Active reports whether the run can be cancelled.
func (r threadRun) Active() bool { return r.Status.Active() }

func (s *server) threadPage(w http.ResponseWriter, r *http.Request) error {
	before, _ := strconv.Atoi(r.URL.Query().Get("earlier")) // anything but a number means the newest turns
	v, err := s.viewThread(r.Context(), threadOf(r), before, readPlace(r.URL.Query()))
	if err != nil {
		return err
	}
	return s.show(w, r, threadHTML, v.Title, v)
}

func (s *server) viewThread(ctx context.Context, id string, beforeTurn int, place treePlace) (v threadView, err error) {
	mark, err := s.threadMark(ctx, id)
	if err != nil {
		return v, err
	}
	t, err := s.Service.GetThread(ctx, id)
	if err != nil {
		return v, err
	}
	v = threadView{
		ThreadID: t.ID, Status: t.Status, Owner: t.Owner, CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt, Metadata: pretty(t.Metadata).Text, Head: t.Head,
		Conversation: readConversation(t.Values, beforeTurn, maxTurns), MayAct: mayAct(ctx), Mark: mark,
	}
	if v.Runs, err = s.listThreadRuns(ctx, &t); err != nil {
		return v, err
	}
	v.Title = titleOf(t.Values, v.Runs)
	if v.Questions, err = s.listQuestions(ctx, t); err != nil {
		return v, err
	}
	if v.Tree, err = s.readTree(ctx, t, v.Runs, place); err != nil {
		return v, err
	}
	versions, err := s.Service.ListFileVersions(ctx, t.ID)
	if err != nil {
		return v, err
	}
	v.Files = viewPaths(versions)
	attach(v.Conversation.Turns, versions)
	v.Told, err = s.listTold(ctx, t.ID)
	return v, err
}

// titleOf returns the beginning of the first message of a user, or else of the request of the oldest listed run.
func titleOf(values json.RawMessage, runs []threadRun) string {
	for _, m := range messagesIn(values) {
		if text := line(rule.MessageText(m)); text != "" && roleOf(m) == "person" {
			return cutRunes(text, maxTitle)
		}
	}
	for _, r := range slices.Backward(runs) {
		if r.Request != "" {
			return cutRunes(r.Request, maxTitle)
		}
	}
	return "Thread"
}

func (s *server) newestRuns(ctx context.Context, thread string, limit int) iter.Seq2[mapping.Run, error] {
	return s.Service.ListRuns(ctx, mapping.RunQuery{ThreadID: thread, Limit: limit})
}

func (s *server) listThreadRuns(ctx context.Context, t *mapping.Thread) ([]threadRun, error) {
	list := []threadRun{}
	for run, err := range s.newestRuns(ctx, t.ID, maxThreadRuns) {
		if err != nil {
			return nil, err
		}
		list = append(list, viewThreadRun(&run, t))
	}
	return list, nil
}

func (s *server) listQuestions(ctx context.Context, t mapping.Thread) ([]openQuestion, error) {
	list := []openQuestion{}
	for _, q := range t.Interrupts {
		asks, err := s.runThatAsked(ctx, t.ID, q)
		if err != nil {
			return nil, err
		}
		list = append(list, openQuestion{formOf(q), asks.ID, asks.Agent})
	}
	return list, nil
}

// runThatAsked returns the run of a question. It returns the zero Run if the run was deleted.
func (s *server) runThatAsked(ctx context.Context, thread string, q mapping.Interrupt) (mapping.Run, error) {
	r, err := s.Service.GetRun(ctx, adapter.RunRef{ThreadID: thread, RunID: q.Run})
	if isNotFound(err) {
		return mapping.Run{}, nil
	}
	if err != nil {
		return mapping.Run{}, err
	}
	return *r, nil
}

// followThread reports changes of the thread, its head or its runs.
func (s *server) followThread(w http.ResponseWriter, r *http.Request) error {
	return s.follow(w, r, func(ctx context.Context) (string, error) { return s.threadMark(ctx, threadOf(r)) })
}

// threadMark returns a mark that changes with the thread. It does not read values, which may be large.
func (s *server) threadMark(ctx context.Context, id string) (string, error) {
	found, _, err := s.Service.SearchThreads(ctx, adapter.ThreadSearch{ThreadQuery: mapping.ThreadQuery{IDs: []string{id}, Limit: 1}, NoValues: true})
	if err != nil {
		return "", err
	}
	threads, err := adapter.All(found)
	if err != nil {
		return "", err
	}
	if len(threads) == 0 {
		return "", mapping.Errorf(mapping.NotFound, mapping.CodeThreadNotFound, "There is no thread %s.", id)
	}
	t := threads[0]
	runs, err := s.listThreadRuns(ctx, &t)
	sum := sha256.Sum256(fmt.Append(nil, t.Status, t.Head, t.Interrupts, runs))
	return hex.EncodeToString(sum[:12]), err
}

// recalledRun lists the items of the long-term store that the agent of a run received.
type recalledRun struct {
	RunID  string     `json:"run_id"`
	Items  []toldItem `json:"items"`
	More   int        `json:"more,omitempty"`   // number of items that are not listed
	Hidden int        `json:"hidden,omitempty"` // number of items that the caller may not see
}

// toldItem is an item in its current version.
type toldItem struct {
	Namespace []string   `json:"namespace"`
	Key       string     `json:"key"`
	Gone      bool       `json:"gone,omitempty"`
	Value     cutText    `json:"value"`
	UpdatedAt *time.Time `json:"updated_at,omitempty"`
}

func (s *server) listTold(ctx context.Context, thread string) ([]recalledRun, error) {
	runs, err := s.Service.ListRecalledItems(ctx, thread, maxToldRuns)
	list := []recalledRun{}
	who := mapping.PrincipalOf(ctx)
	for _, r := range runs {
		one := recalledRun{RunID: r.RunID, Items: []toldItem{}, More: max(0, len(r.Items)-maxToldItems)}
		for _, name := range r.Items[:min(len(r.Items), maxToldItems)] {
			if !who.MayReach(name.Namespace) {
				one.Hidden++
				continue
			}
			it := toldItem{Namespace: name.Namespace, Key: name.Key}
			now, err := s.Service.GetItem(ctx, name.Namespace, name.Key, new(false)) // false: do not prolong its life
			switch {
			case err == nil:
				it.Value, it.UpdatedAt = cut(string(now.Value)), &now.UpdatedAt
			case isNotFound(err):
				it.Gone = true
			default:
				return nil, err
			}
			one.Items = append(one.Items, it)
		}
		list = append(list, one)
	}
	return list, err
}

type checkpointView struct {
	ThreadID  string       `json:"thread_id"`
	ID        string       `json:"checkpoint_id"`
	Parent    string       `json:"parent,omitempty"`
	CreatedAt time.Time    `json:"created_at"`
	Next      []string     `json:"next"`
	Metadata  cutText      `json:"metadata"`
	Step      int          `json:"step"`
	Values    cutText      `json:"values"`
	Messages  conversation `json:"conversation"`
	Agents    []string     `json:"agents"` // choices for a run from this checkpoint
	Agent     string       `json:"agent"`  // of the thread's newest run
	MayAct    bool         `json:"-"`
	OfRun     string       `json:"-"` // in words
}

// StepName returns the step in words.
func (v checkpointView) StepName() string { return stepName(v.Step, v.Parent) + v.OfRun }

// Before returns the end of the parent's id.
func (v checkpointView) Before() string { return shortID(v.Parent) }

func (s *server) checkpointPage(w http.ResponseWriter, r *http.Request) error {
	st, err := s.stateOf(r)
	if err != nil {
		return err
	}
	v := checkpointView{
		ThreadID: st.ThreadID, ID: st.Checkpoint, Parent: st.Parent, CreatedAt: st.CreatedAt, Next: st.Next,
		Metadata: pretty(st.Metadata), Step: st.StepNumber, Values: pretty(st.Values), Messages: readConversation(st.Values, 0, maxTurns), MayAct: mayAct(r.Context()),
	}
	if v.OfRun, err = s.nameRun(r.Context(), st); err != nil {
		return err
	}
	for run, err := range s.newestRuns(r.Context(), st.ThreadID, 1) {
		if err != nil {
			return err
		}
		v.Agent = run.Agent
	}
	if v.Agents, err = s.agentNames(r.Context(), v.Agent); err != nil {
		return err
	}
	return s.show(w, r, checkpointHTML, "Checkpoint "+v.ID, v)
}

// stateOf returns the state of the checkpoint that a request names.
func (s *server) stateOf(r *http.Request) (adapter.ThreadState, error) {
	return s.Service.GetState(r.Context(), threadOf(r), mux.Vars(r)["checkpoint_id"])
}

func (s *server) checkpointValues(w http.ResponseWriter, r *http.Request) error {
	st, err := s.stateOf(r)
	if err != nil {
		return err
	}
	return sendAttachment(w, "application/json", "values-"+st.Checkpoint+".json", st.Values)
}

func (s *server) checkpointMessage(w http.ResponseWriter, r *http.Request) error {
	index, err := strconv.Atoi(mux.Vars(r)["index"])
	if err != nil {
		index = -1
	}
	st, err := s.stateOf(r)
	if err != nil {
		return err
	}
	list := messagesIn(st.Values)
	if index < 0 || index >= len(list) {
		return notFound("The state has no message with this index.")
	}
	return sendAttachment(w, "text/plain; charset=utf-8", "message-"+strconv.Itoa(index)+".json", list[index])
}
