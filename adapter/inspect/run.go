package inspect

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/inspect/conversation"
	"github.com/apbridge/apbridge/adapter/inspect/timeline"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/gorilla/mux"
)

var readsRun = adapter.Effect{Verb: mapping.Read, Kind: "run"}

var oneRunRoutes = []route{
	{"GET", "/runs/{run_id}", looking, readsRun, func(s *server) serve { return s.run.serve }},
	{"GET", "/runs/{run_id}/events", looking, readsRun, func(s *server) serve { return s.run.follow }},
	{"GET", "/runs/{run_id}/log/{seq}", looking, readsRun, func(s *server) serve { return s.event.serve }},
	{"GET", "/runs/{run_id}/log/{seq}/{part}", looking, readsRun, func(s *server) serve { return s.event.serveBytes }},
	{"GET", "/runs/{run_id}/files/{artifact_id}", looking, adapter.Effect{Verb: mapping.Read, Kind: "artifact"}, func(s *server) serve { return s.written.serve }},
	{"GET", "/runs/{run_id}/export/{form}", looking, readsRun, func(s *server) serve { return s.exports.serve }},
}

var runHTML = newPage("run", "runs", "run.js", "run.css")

// rowsShown is how many events a page has, unless its address says another number up to rowsMost.
const (
	rowsShown = 100
	rowsMost  = 1000
)

// runView is a page of a run's axis. Of what others have said it has the words, not yet inert.
type runView struct {
	RunID     string              `json:"run_id"`
	ThreadID  string              `json:"thread_id"`
	TaskID    string              `json:"task_id"`
	Agent     string              `json:"agent"`
	Owner     string              `json:"owner,omitempty"`
	Status    mapping.RunStatus   `json:"status"`
	Parked    bool                `json:"parked,omitempty"`
	Attempt   int                 `json:"attempt"`
	CreatedAt time.Time           `json:"created_at"`
	EndedAt   *time.Time          `json:"ended_at,omitempty"`
	Request   *conversation.Text  `json:"request,omitempty"` // what was asked, in words
	Answer    *conversation.Text  `json:"answer,omitempty"`  // what the agent said last, of a run that has ended
	Fault     *mapping.Fault      `json:"error,omitempty"`
	Why       string              `json:"why"` // it stands where it does: of the explainer
	Questions []mapping.Interrupt `json:"questions,omitempty"`
	Losses    []lossView          `json:"losses,omitempty"`
	Timing    timeline.Timing     `json:"timing"`
	Usage     *usage              `json:"usage,omitempty"` // of a run that has ended; nil: not known
	Capture   string              `json:"capture"`
	Calls     []*timeline.Call    `json:"calls"`
	Answered  *callView           `json:"answered,omitempty"` // the newest call that went wrong, of a run that did
	Files     []fileView          `json:"files,omitempty"`
	Columns   []string            `json:"columns"`
	Tokens    bool                `json:"tokens"` // are among the rows
	After     int64               `json:"after,omitempty"`
	MayAct    bool                `json:"-"`
	timeline.Page
}

// Active reports whether the run can be cancelled.
func (v runView) Active() bool { return v.Status.Active() }

// runPage shows one run.
type runPage struct {
	*renderer
	live      *live
	axes      *axes
	runs      runReader
	log       positions
	explainer adapter.Runs
	call      *callPage
	files     *runFiles
	used      *usages
}

// runReader is part of adapter.Runs.
type runReader interface {
	runFinder
	eventReader
}

// positions is part of adapter.Threads.
type positions interface {
	ThreadPosition(ctx context.Context, threadID string, after adapter.Cursor) (adapter.Cursor, error)
}

func (p *runPage) serve(w http.ResponseWriter, r *http.Request) error {
	v, err := p.view(r)
	if err != nil {
		return err
	}
	return p.show(w, r, runHTML, "Run "+v.RunID, v)
}

// refOf is the run that a request names.
func refOf(r *http.Request) adapter.RunRef { return adapter.RunRef{RunID: mux.Vars(r)["run_id"]} }

// axes are what the pages of a run read it by.
type axes struct {
	source   timeline.Source
	dialects adapter.Dialects
	marks    *timeline.Marks
}

// axis returns the axis of the run that a request names.
func (a *axes) axis(r *http.Request) (*timeline.Axis, error) {
	return timeline.New(r.Context(), a.source, a.dialects, refOf(r), a.marks)
}

func (p *runPage) view(r *http.Request) (v runView, err error) {
	ctx := r.Context()
	a, err := p.axes.axis(r)
	if err != nil {
		return v, err
	}
	q, err := queryOf(r)
	if err != nil {
		return v, err
	}
	kept, err := p.call.list(r)
	if err != nil {
		return v, err
	}
	q.Calls = kept.Calls
	page, err := a.Page(ctx, q)
	if err != nil {
		return v, err
	}
	v = viewOf(&a.Run) // as the page has it
	v.Page, v.Losses = page, p.axes.losses(&a.Run)
	v.Columns, v.Capture, v.Tokens, v.After = a.Columns(), kept.Capture, q.Tokens, q.After
	v.MayAct = mapping.PrincipalOf(ctx).Need(acting...) == nil
	for n := range kept.Calls {
		v.Calls = append(v.Calls, timeline.CallOf(&kept.Calls[n]))
	}
	return v, p.fill(ctx, &v, a, kept.Calls)
}

func viewOf(run *mapping.Run) runView {
	v := runView{
		RunID: run.ID, ThreadID: run.ThreadID, TaskID: run.TaskID, Agent: run.Agent, Owner: run.Owner, Status: run.Status, Parked: run.Parked,
		Attempt: run.Attempt, CreatedAt: run.CreatedAt, Fault: run.Fault, Calls: []*timeline.Call{},
	}
	if !run.EndedAt.IsZero() {
		v.EndedAt = &run.EndedAt
	}
	return v
}

// queryOf reads after, limit and tokens.
func queryOf(r *http.Request) (timeline.Query, error) {
	q := timeline.Query{Limit: rowsShown, Tokens: r.FormValue("tokens") == "show"}
	for name, into := range map[string]func(int64){"after": func(n int64) { q.After = n }, "limit": func(n int64) { q.Limit = int(min(max(n, 1), rowsMost)) }} {
		text := r.FormValue(name)
		if text == "" {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return q, mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "%s is a number.", name)
		}
		into(n)
	}
	return q, nil
}

// fill adds what is not on the axis.
func (p *runPage) fill(ctx context.Context, v *runView, a *timeline.Axis, calls []adapter.AgentCall) error {
	why, err := p.explainer.ExplainRun(ctx, adapter.RunRef{ThreadID: v.ThreadID, RunID: v.RunID})
	if err != nil {
		return err
	}
	v.Why = why.Message
	if why.Question != nil {
		v.Questions = why.Question.Interrupts
	}
	agent, answer, err := p.end(ctx, &a.Run)
	if err != nil {
		return err
	}
	v.Request = textOf(rule.RequestText(a.Run.Kwargs))
	if len(v.Questions) == 0 { // else the question is what it said last
		v.Answer = textOf(answer)
	}
	v.Timing = timeline.TimingOf(&a.Run, time.Now(), agent, calls)
	rows := []runRow{{RunID: v.RunID, Status: v.Status}}
	p.used.fill(ctx, rows)
	v.Usage = rows[0].Usage
	if a.Run.Fault != nil {
		if v.Answered, err = p.call.answered(ctx, v.RunID, v.Calls); err != nil {
			return err
		}
	}
	v.Files, err = p.files.list(ctx, &a.Run, v.Rows)
	return err
}

// end returns what the end of a run says: the time of its agent and what that said last. Both are empty while there is
// no end, and the time is 0 of a run of an older version.
func (p *runPage) end(ctx context.Context, run *mapping.Run) (agent time.Duration, answer string, err error) {
	if run.Status.Active() {
		return 0, "", nil
	}
	for e, err := range p.runs.RunEvents(ctx, adapter.RunRef{ThreadID: run.ThreadID, RunID: run.ID}, adapter.Cursor{End: true}, nil) {
		if err != nil {
			return 0, "", err
		}
		if e.Kind == mapping.KindEnd {
			agent, answer = e.Head.AgentTime, conversation.LastWords(e.After.JSON())
		}
	}
	return agent, answer, nil
}

// textOf is a text as far as a page shows it; nil for none.
func textOf(text string) *conversation.Text {
	if text == "" {
		return nil
	}
	cut := conversation.Cut(text)
	return &cut
}

// follow tells of each event that is logged, and of each change of the run's status.
func (p *runPage) follow(w http.ResponseWriter, r *http.Request) error {
	ref := refOf(r)
	return p.live.follow(w, r, func(ctx context.Context) (string, error) {
		run, err := p.runs.GetRun(ctx, ref)
		if err != nil {
			return "", err
		}
		if !run.Status.Active() {
			return string(run.Status), nil
		}
		at, err := p.log.ThreadPosition(ctx, run.ThreadID, adapter.Cursor{Live: true})
		return fmt.Sprintf("%d.%s.%t", at.Seq, run.Status, run.Parked), err
	})
}

// lossView is a field that the agent was not told as it was said, and why.
type lossView struct {
	mapping.Loss
	Reason string `json:"reason,omitempty"`
}

func (a *axes) losses(run *mapping.Run) (list []lossView) {
	for _, l := range run.Options.Losses {
		list = append(list, lossView{l, a.dialects.LossReason(run.Flavour, l)})
	}
	return list
}
