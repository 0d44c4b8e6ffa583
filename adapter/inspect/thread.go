package inspect

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/inspect/conversation"
	"github.com/apbridge/apbridge/adapter/inspect/question"
	"github.com/apbridge/apbridge/mapping"
	"github.com/gorilla/mux"
)

var readsThread = adapter.Effect{Verb: mapping.Read, Kind: "thread"}

var threadRoutes = []route{
	{"GET", "/threads/{thread_id}", looking, readsThread, func(s *server) serve { return s.thread.serve }},
	{"GET", "/threads/{thread_id}/events", looking, readsThread, func(s *server) serve { return s.thread.follow }},
	{"GET", "/threads/{thread_id}/files/{version}", looking, adapter.Effect{Verb: mapping.Read, Kind: "artifact"}, func(s *server) serve { return s.files.serve }},
}

var threadHTML = newPage("thread", "runs", "thread.css", "thread.js")

const (
	turnsShown       = 50  // of a conversation, the newest
	runsShown        = 50  // of a thread, the newest
	checkpointsShown = 200 // of a thread, the newest
	toldRunsShown    = 20  // runs whose agents were told of items
	toldItemsShown   = 50  // of one run
)

// threadView is what the page of a thread shows.
type threadView struct {
	ThreadID     string               `json:"thread_id"`
	Status       mapping.ThreadStatus `json:"status"`
	Owner        string               `json:"owner"`
	CreatedAt    time.Time            `json:"created_at"`
	UpdatedAt    time.Time            `json:"updated_at"`
	Metadata     string               `json:"metadata"`
	Head         string               `json:"head"` // the checkpoint that the conversation is of
	Conversation conversation.Page    `json:"conversation"`
	Questions    []openQuestion       `json:"questions"`
	Runs         []threadRun          `json:"runs"`
	Tree         []treeLine           `json:"tree"`
	Older        string               `json:"older,omitempty"` // the checkpoint before which the tree goes on
	Files        []fileRow            `json:"files"`
	Told         []toldRun            `json:"told"`
	MayAct       bool                 `json:"-"`
	Mark         string               `json:"-"` // that follow told at the latest before the rest was read
}

// openQuestion is a question with its form.
type openQuestion struct {
	question.Form
	RunID string `json:"run_id"`
	Agent string `json:"agent"`
}

// threadRun is a run in the list of its thread.
type threadRun struct {
	RunID     string            `json:"run_id"`
	Agent     string            `json:"agent"`
	Status    mapping.RunStatus `json:"status"`
	Owner     string            `json:"owner"`
	Answers   bool              `json:"answers,omitempty"` // it answers a question
	CreatedAt time.Time         `json:"created_at"`
}

// Active reports whether the run can be cancelled.
func (r threadRun) Active() bool { return r.Status.Active() }

// threadPage shows one thread.
type threadPage struct {
	*renderer
	live    *live
	threads threadFinder
	index   threadSearcher
	runs    *threadRuns
	history *history
	files   *threadFiles
	told    *toldItems
}

// threadSearcher is part of adapter.Threads.
type threadSearcher interface {
	SearchThreads(ctx context.Context, q adapter.ThreadSearch) (threads iter.Seq2[mapping.Thread, error], total int, err error)
}

func (p *threadPage) serve(w http.ResponseWriter, r *http.Request) error {
	v, err := p.view(r.Context(), mux.Vars(r)["thread_id"], r.URL.Query().Get("earlier"), r.URL.Query().Get("older"))
	if err != nil {
		return err
	}
	return p.show(w, r, threadHTML, "Thread "+v.ThreadID, v)
}

func (p *threadPage) view(ctx context.Context, id, earlier, older string) (v threadView, err error) {
	mark, err := p.mark(ctx, id)
	if err != nil {
		return v, err
	}
	t, err := p.threads.GetThread(ctx, id)
	if err != nil {
		return v, err
	}
	before, _ := strconv.Atoi(earlier) // what is no number means the newest
	v = threadView{
		ThreadID: t.ID, Status: t.Status, Owner: t.Owner, CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt, Metadata: pretty(t.Metadata).Text, Head: t.Head,
		Conversation: conversation.Read(t.Values, before, turnsShown), MayAct: mapping.PrincipalOf(ctx).Need(acting...) == nil, Mark: mark,
	}
	for _, part := range []func() error{
		func() (err error) { v.Runs, err = p.runs.list(ctx, t.ID); return err },
		func() (err error) { v.Questions, err = p.runs.questions(ctx, t); return err },
		func() (err error) { v.Tree, v.Older, err = p.history.tree(ctx, t, older); return err },
		func() (err error) { v.Files, err = p.files.list(ctx, t.ID); return err },
		func() (err error) { v.Told, err = p.told.list(ctx, t.ID); return err },
	} {
		if err := part(); err != nil {
			return v, err
		}
	}
	return v, nil
}

// threadRuns are the runs of threads.
type threadRuns struct {
	index adapter.Runs
	runs  runFinder
}

// newest ranges over the newest runs of a thread.
func (t *threadRuns) newest(ctx context.Context, thread string, limit int) iter.Seq2[mapping.Run, error] {
	return t.index.ListRuns(ctx, mapping.RunQuery{ThreadID: thread, Limit: limit})
}

func (t *threadRuns) list(ctx context.Context, thread string) (list []threadRun, err error) {
	list = []threadRun{}
	for run, err := range t.newest(ctx, thread, runsShown) {
		if err != nil {
			return nil, err
		}
		list = append(list, threadRun{run.ID, run.Agent, run.Status, run.Owner, run.Options.Resuming, run.CreatedAt})
	}
	return list, nil
}

// questions are the open ones, each with the agent that asks.
func (t *threadRuns) questions(ctx context.Context, of mapping.Thread) ([]openQuestion, error) {
	list := []openQuestion{}
	for _, q := range of.Interrupts {
		asks, err := t.runThatAsked(ctx, of.ID, q)
		if err != nil {
			return nil, err
		}
		list = append(list, openQuestion{question.Of(q), asks.ID, asks.Agent})
	}
	return list, nil
}

// runThatAsked returns the run that asked: as the question says, or of an older version's the newest that waits. The
// zero run where it has gone.
func (t *threadRuns) runThatAsked(ctx context.Context, thread string, q mapping.Interrupt) (mapping.Run, error) {
	if q.Run != "" {
		r, err := t.runs.GetRun(ctx, adapter.RunRef{ThreadID: thread, RunID: q.Run})
		if err != nil && mapping.Classify(err).Class == mapping.NotFound {
			return mapping.Run{}, nil
		}
		if err != nil {
			return mapping.Run{}, err
		}
		return *r, nil
	}
	for r, err := range t.index.ListRuns(ctx, mapping.RunQuery{ThreadID: thread, Status: []mapping.RunStatus{mapping.RunInterrupted}, Limit: 1}) {
		return r, err
	}
	return mapping.Run{}, nil
}

// follow tells when the thread, its runs or its head are others than before.
func (p *threadPage) follow(w http.ResponseWriter, r *http.Request) error {
	id := mux.Vars(r)["thread_id"]
	return p.live.follow(w, r, func(ctx context.Context) (string, error) { return p.mark(ctx, id) })
}

// mark is another one when the thread, its runs or its head are others.
func (p *threadPage) mark(ctx context.Context, id string) (string, error) {
	t, err := p.withoutValues(ctx, id)
	if err != nil {
		return "", err
	}
	runs, err := p.runs.list(ctx, id)
	sum := sha256.Sum256(fmt.Append(nil, t.Status, t.Head, t.Interrupts, runs))
	return hex.EncodeToString(sum[:12]), err
}

// withoutValues is a thread without its state, which may be large.
func (p *threadPage) withoutValues(ctx context.Context, id string) (mapping.Thread, error) {
	list, _, err := p.index.SearchThreads(ctx, adapter.ThreadSearch{ThreadQuery: mapping.ThreadQuery{IDs: []string{id}, Limit: 1}, NoValues: true})
	if err != nil {
		return mapping.Thread{}, err
	}
	for t, err := range list {
		return t, err
	}
	return mapping.Thread{}, mapping.Errorf(mapping.NotFound, mapping.CodeThreadNotFound, "There is no thread %s.", id)
}

// pretty is JSON for people, as far as a page shows it.
func pretty(value json.RawMessage) conversation.Text {
	if len(value) > prettyMost {
		return conversation.Cut(string(value))
	}
	return conversation.Cut(indented(value))
}
