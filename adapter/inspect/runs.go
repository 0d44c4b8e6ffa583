package inspect

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

var runRoutes = []route{
	{"GET", "", looking, adapter.Effect{Verb: mapping.Read, Kind: "run"}, (*inspector).serveRuns},
	{"GET", "/events", looking, adapter.Effect{Verb: mapping.Read, Kind: "run"}, (*inspector).followRuns},
}

var runsPage = newPage("runs", "runs", "runs.js")

// runList is what the list of runs shows.
type runList struct {
	Runs []runRow `json:"runs"`
}

// runRow is one run in the list.
type runRow struct {
	RunID     string            `json:"run_id"`
	ThreadID  string            `json:"thread_id"`
	Agent     string            `json:"agent"`
	Status    mapping.RunStatus `json:"status"`
	Owner     string            `json:"owner"`
	CreatedAt time.Time         `json:"created_at"`
}

func (i *inspector) serveRuns(w http.ResponseWriter, r *http.Request) error {
	list, err := i.runs(r.Context(), adapter.RunQuery{Limit: 50})
	if err != nil {
		return err
	}
	return i.show(w, r, runsPage, "Runs", list)
}

func (i *inspector) runs(ctx context.Context, q adapter.RunQuery) (list runList, err error) {
	list.Runs = []runRow{}
	for run, err := range i.Service.RunIndex.List(ctx, q) {
		if err != nil {
			return list, err
		}
		list.Runs = append(list.Runs, runRow{run.ID, run.ThreadID, run.Agent, run.Status, run.Owner, run.CreatedAt})
	}
	return list, nil
}

func (i *inspector) followRuns(w http.ResponseWriter, r *http.Request) error {
	return i.follow(w, r, func(ctx context.Context) (string, error) {
		list, err := i.runs(ctx, adapter.RunQuery{Limit: 50})
		return markOf(list.Runs), err
	})
}

// markOf is another one for other contents.
func markOf(v any) string {
	sum := sha256.Sum256(fmt.Append(nil, v))
	return hex.EncodeToString(sum[:12])
}
