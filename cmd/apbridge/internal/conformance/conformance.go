// Package conformance checks a server against the documents of the dialects that it speaks. The command of the same
// name calls it. It calls the server as any client does, so it knows nothing of the bridge. The checks of a dialect are
// a package each; their parts are in package check.
package conformance

import (
	"context"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/agentprotocol"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/check"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/langgraph"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/report"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/streaming"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/taskstep"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/topics"
)

// Suites returns the suites of all dialects that there are checks of.
func Suites() []check.Suite {
	return []check.Suite{taskstep.Suite(), topics.Suite(), agentprotocol.Suite(), langgraph.Suite(), streaming.Suite()}
}

// Options are what is checked.
type Options struct {
	Server *check.Server
	Suites []check.Suite
	// Unspoken are the names of dialects that the server was asked for and does not speak, for the report.
	Unspoken []string
	Wanted   func(check.Check) bool
	Watch    func(check.Result) // called after each check
}

// Spoken returns the suites of the dialects that a server speaks, as far as it can be asked without making anything.
func Spoken(ctx context.Context, server *check.Server) (list []check.Suite) {
	for _, s := range Suites() {
		if s.Asked(ctx, server) {
			list = append(list, s)
		}
	}
	return list
}

// Run does the checks and removes what they made. When ctx ends the rest is skipped.
func Run(ctx context.Context, o Options) report.Report {
	began := time.Now()
	r := report.Report{URL: o.Server.Base, Began: began, Unspoken: o.Unspoken}
	for _, s := range o.Suites {
		r.Dialects = append(r.Dialects, report.Dialect{Name: s.Name, Title: s.Title, Results: s.Run(ctx, o.Server, o.Wanted, o.Watch)})
	}
	r.Left = o.Server.Clean(ctx)
	r.Interrupted = ctx.Err() != nil
	r.Seconds = time.Since(began).Seconds()
	return r
}
