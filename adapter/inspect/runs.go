package inspect

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/page"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
)

var runsHTML = newPage("runs", "runs", "runs.js")

// runsView is a page of the list of runs.
type runsView struct {
	Filter runFilter `json:"filter"`
	Runs   []runRow  `json:"runs"`
	Next   string    `json:"next,omitempty"` // the position of the next page; "" if this is the last
	// Waiting are the open questions, on the first page.
	Waiting []waitingView `json:"waiting,omitempty"`

	Agents   []string            `json:"-"` // choices of the filter
	Statuses []mapping.RunStatus `json:"-"`
	Query    string              `json:"-"` // of the event stream of this list
	Older    string              `json:"-"` // the query of the next page
	First    bool                `json:"-"` // it begins with the newest run
	Keys     bool                `json:"-"` // runs can have a key
}

// Columns returns the headings of the table.
func (l runsView) Columns() []string {
	list := []string{"Request", "Agent", "Status", "Details", "Created", "Duration", "Steps", "Tokens, cost"}
	if l.Keys {
		list = append(list, "Key")
	}
	return append(list, "Thread", "Run")
}

// Newest returns the query of the first page.
func (l runsView) Newest() string { return l.Filter.address("") }

// runRow is one run in the list. It contains texts for both the page and its module.
type runRow struct {
	RunID     string            `json:"run_id"`
	ThreadID  string            `json:"thread_id"`
	Agent     string            `json:"agent"`
	Request   string            `json:"request,omitempty"` // the request in words
	Status    mapping.RunStatus `json:"status"`
	Parked    bool              `json:"parked,omitempty"`
	Answered  bool              `json:"answered,omitempty"` // its question is no longer open
	Owner     string            `json:"key"`
	CreatedAt time.Time         `json:"created_at"`
	EndedAt   *time.Time        `json:"ended_at,omitempty"`
	Took      string            `json:"took"`             // up to now for an active run
	Reason    adapter.Reason    `json:"reason,omitempty"` // why it waits
	Why       string            `json:"why,omitempty"`    // the reason as a sentence, or why it failed
	Steps     *int              `json:"steps,omitempty"`  // of an ended run; nil means unknown
	Usage     *usage            `json:"usage,omitempty"`  // nil means unknown
	Place     string            `json:"place"`            // its position, for the parameter "before"
}

func (s *server) runsPage(w http.ResponseWriter, r *http.Request) error {
	f, err := readFilter(r.URL.Query())
	if err != nil {
		return err
	}
	if page.Wanted(r.Header) && hasBlank(r.URL.Query()) {
		return redirect(w, r, "inspect"+f.address(f.before), nil) // an address that can be read and shared
	}
	v, err := s.viewRuns(r.Context(), f)
	if err != nil {
		return err
	}
	if v.Agents, err = s.agentNames(r.Context(), f.Agent); err != nil {
		return err
	}
	return s.show(w, r, runsHTML, "Runs", v)
}

// withoutSlash redirects from the path with a trailing slash, which users may type.
func (s *server) withoutSlash(w http.ResponseWriter, r *http.Request) error {
	to := url.URL{Path: page.RootOf(r.URL.Path) + "inspect", RawQuery: r.URL.RawQuery}
	w.Header().Set("Location", to.String()) // relative, because the root of the bridge may be below a path of a proxy
	w.WriteHeader(http.StatusPermanentRedirect)
	return nil
}

func (s *server) viewRuns(ctx context.Context, f runFilter) (v runsView, err error) {
	v = runsView{Filter: f, Runs: []runRow{}, Statuses: statuses, First: f.before == "", Keys: s.Keys(), Query: f.address(f.before)}
	runs, err := s.listRuns(ctx, f)
	if err != nil {
		return v, err
	}
	if len(runs) > f.limit {
		runs = runs[:f.limit]
		v.Next = markOfRun(runs[f.limit-1])
		v.Older = f.address(v.Next)
	}
	now := time.Now()
	for _, run := range runs {
		v.Runs = append(v.Runs, s.viewRow(ctx, run, now))
	}
	if v.First && f.showsWaiting() {
		v.Waiting, err = s.listWaiting(ctx, f)
	}
	return v, err
}

// listRuns returns the runs of a page, and one more if there is a next page.
func (s *server) listRuns(ctx context.Context, f runFilter) ([]mapping.Run, error) {
	q, err := f.query()
	if err != nil {
		return nil, err
	}
	return adapter.All(s.Service.ListRuns(ctx, q))
}

func (s *server) viewRow(ctx context.Context, r mapping.Run, now time.Time) runRow {
	row := runRow{
		RunID: r.ID, ThreadID: r.ThreadID, Agent: r.Agent, Request: line(rule.RequestText(r.Kwargs)), Status: r.Status, Parked: r.Parked,
		Owner: r.Owner, CreatedAt: r.CreatedAt, Took: took(r, now), Place: markOfRun(r), Usage: usageOrNil(r.Totals.Usage),
	}
	if !r.EndedAt.IsZero() {
		row.EndedAt, row.Steps = &r.EndedAt, &r.Totals.Steps
	}
	if r.Fault != nil {
		row.Why = brief(mapping.WithoutAgent(r.Agent, r.Fault.Message))
	}
	if r.Status.Active() || r.Status == mapping.RunInterrupted {
		if e, err := s.Service.ExplainRun(ctx, adapter.RunRef{RunID: r.ID}); err == nil { // otherwise it was deleted
			row.Answered = asked(&r) && e.Question == nil
			row.Reason, row.Why = e.Reason, brief(mapping.WithoutAgent(r.Agent, e.Message))
			if e.Question != nil && len(e.Question.Interrupts) > 0 {
				row.Why = line(rule.QuestionText(e.Question.Interrupts[0].Value))
			}
		}
	}
	return row
}

// reasonsAge bounds the age of the reasons that a page shows for active runs.
const reasonsAge = 5 * time.Second

// followRuns reports changes of the list. The reason why an active run waits can change without a change of the run, so
// a list with active runs also changes with time.
func (s *server) followRuns(w http.ResponseWriter, r *http.Request) error {
	f, err := readFilter(r.URL.Query())
	if err != nil {
		return err
	}
	return s.follow(w, r, func(ctx context.Context) (string, error) {
		runs, err := s.listRuns(ctx, f)
		sum, active := sha256.New(), false
		for _, run := range runs {
			fmt.Fprintln(sum, run.ID, run.Status, run.Parked, run.Attempt, run.UpdatedAt.UnixMicro())
			active = active || run.Status.Active()
		}
		if active {
			fmt.Fprintln(sum, time.Now().Truncate(reasonsAge).Unix())
		}
		if err == nil && f.showsWaiting() {
			err = s.markWaiting(ctx, sum, f)
		}
		return hex.EncodeToString(sum.Sum(nil)[:12]), err
	})
}

// maxBrief is the maximum size in bytes of a sentence in a list, which an agent may have written.
const maxBrief = 400

func brief(text string) string {
	if len(text) <= maxBrief {
		return text
	}
	return strings.ToValidUTF8(text[:maxBrief], "") + "…"
}

// line returns the beginning of a text on one line.
func line(text string) string { return strings.Join(strings.Fields(brief(text)), " ") }

// took returns the time from the creation of a run to its end, or to now if it is active. This is how long its user waited.
func took(r mapping.Run, now time.Time) string {
	if !r.EndedAt.IsZero() {
		now = r.EndedAt
	}
	return mapping.Span(now.Sub(r.CreatedAt))
}

// State returns the status, or "answered".
func (r runRow) State() string { return stateOfRun(r.Status, r.Answered) }

// Short returns the end of the run's id. The beginning is a time, which many runs share.
func (r runRow) Short() string { return shortID(r.RunID) }

const shortIDLength = 8

func shortID(id string) string {
	if len(id) <= shortIDLength+1 {
		return id
	}
	return strings.ToValidUTF8("…"+id[len(id)-shortIDLength:], "")
}

func spanOf(seconds float64) string {
	return mapping.Span(time.Duration(seconds * float64(time.Second)))
}
