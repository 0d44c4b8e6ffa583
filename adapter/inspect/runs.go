package inspect

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/page"
	"github.com/apbridge/apbridge/mapping"
)

var runRoutes = []route{
	{"GET", "", looking, adapter.Effect{Verb: mapping.Read, Kind: "run"}, func(s *server) serve { return s.runs.serve }},
	{"GET", "/", looking, adapter.Effect{Verb: mapping.Read, Kind: "run"}, func(*server) serve { return withoutSlash }},
	{"GET", "/events", looking, adapter.Effect{Verb: mapping.Read, Kind: "run"}, func(s *server) serve { return s.runs.follow }},
}

var runsHTML = newPage("runs", "runs", "runs.js")

// runsView is a page of the list of runs.
type runsView struct {
	Filter runFilter `json:"filter"`
	Runs   []runRow  `json:"runs"`
	Next   string    `json:"next,omitempty"` // the place to go on from; "": these were the last

	Agents   []string            `json:"-"` // to choose from
	Statuses []mapping.RunStatus `json:"-"`
	Query    string              `json:"-"` // of the events of this list
	Older    string              `json:"-"` // the query of the next page
	First    bool                `json:"-"` // it begins with the newest
}

// Newest returns the query of the first page.
func (l runsView) Newest() string { return l.Filter.address("") }

// statuses are all that a run can have.
var statuses = []mapping.RunStatus{
	mapping.RunPending, mapping.RunRunning, mapping.RunInterrupted, mapping.RunSuccess, mapping.RunError, mapping.RunTimeout,
}

// runsPage is the list of runs.
type runsPage struct {
	*renderer
	live   *live
	index  adapter.Runs
	agents *agentNames
	rows   *rows
}

func (p *runsPage) serve(w http.ResponseWriter, r *http.Request) error {
	f, err := readFilter(r.URL.Query())
	if err != nil {
		return err
	}
	list, err := p.list(r.Context(), f)
	if err != nil {
		return err
	}
	list.Statuses = statuses
	if list.Agents, err = p.agents.all(r.Context(), f.Agent); err != nil {
		return err
	}
	return p.show(w, r, runsHTML, "Runs", list)
}

// withoutSlash leads from the path that ends with a slash, as people type it, to the list, with what it is asked for.
func withoutSlash(w http.ResponseWriter, r *http.Request) error {
	to := url.URL{Path: page.RootOf(r.URL.Path) + "inspect", RawQuery: r.URL.RawQuery}
	w.Header().Set("Location", to.String()) // relative, as the root of the bridge may lie below a path of a proxy's
	w.WriteHeader(http.StatusPermanentRedirect)
	return nil
}

// list is a page of the list, with why each run waits and what it has used.
func (p *runsPage) list(ctx context.Context, f runFilter) (list runsView, err error) {
	list = runsView{Filter: f, Runs: []runRow{}, First: f.before == "", Query: f.address(f.before)}
	found, err := p.found(ctx, f)
	if err != nil {
		return list, err
	}
	if len(found) > f.limit {
		found = found[:f.limit]
		list.Next = markOfRun(found[f.limit-1])
		list.Older = f.address(list.Next)
	}
	now := time.Now()
	for _, run := range found {
		list.Runs = append(list.Runs, p.rows.row(ctx, run, now))
	}
	p.rows.used.fill(ctx, list.Runs)
	return list, nil
}

// found are the runs of a page, and one more where there is one.
func (p *runsPage) found(ctx context.Context, f runFilter) ([]mapping.Run, error) {
	q, err := f.query()
	if err != nil {
		return nil, err
	}
	return adapter.All(p.index.ListRuns(ctx, q))
}

// waitsAnew is how old the reasons of runs at work may be on a page.
const waitsAnew = 5 * time.Second

// follow tells when a list changes. While one of its runs is at work, what that waits for does by itself.
func (p *runsPage) follow(w http.ResponseWriter, r *http.Request) error {
	f, err := readFilter(r.URL.Query())
	if err != nil {
		return err
	}
	return p.live.follow(w, r, func(ctx context.Context) (string, error) {
		found, err := p.found(ctx, f)
		sum, active := sha256.New(), false
		for _, run := range found {
			fmt.Fprintln(sum, run.ID, run.Status, run.Parked, run.Attempt, run.UpdatedAt.UnixMicro())
			active = active || run.Status.Active()
		}
		if active {
			fmt.Fprintln(sum, time.Now().Truncate(waitsAnew).Unix())
		}
		return hex.EncodeToString(sum.Sum(nil)[:12]), err
	})
}
