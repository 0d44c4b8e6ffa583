// Package conformance checks a server against the documents of its protocols and reports the results. The command of
// the same name uses it. It calls the server like any client and knows nothing about the bridge. Packages taskstep and
// threadrun have the checks, and package check has their building blocks. Start reading at Run and Report.
package conformance

import (
	"context"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/check"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/taskstep"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/threadrun"
)

// Suites returns all suites.
func Suites() []check.Suite {
	return []check.Suite{taskstep.V1(), taskstep.Topics(), threadrun.AgentProtocol(), threadrun.LangGraph(), threadrun.Streaming()}
}

// Options configure Run.
type Options struct {
	Server *check.Server
	Suites []check.Suite
	// Unspoken has the names of dialects that the server does not speak, for the report.
	Unspoken []string
	Wanted   func(check.Check) bool
	Watch    func(check.Result) // called after each check
}

// Spoken returns the suites of the dialects that a server speaks. It creates nothing on the server.
func Spoken(ctx context.Context, server *check.Server) (list []check.Suite) {
	for _, s := range Suites() {
		if s.SpokenBy(ctx, server) {
			list = append(list, s)
		}
	}
	return list
}

// Run runs the checks and deletes what they created. When ctx ends, the rest is skipped.
func Run(ctx context.Context, o Options) Report {
	began := time.Now()
	r := Report{URL: o.Server.Base, Began: began, Unspoken: o.Unspoken}
	for _, s := range o.Suites {
		r.Dialects = append(r.Dialects, Dialect{Name: s.Name, Title: s.Title, Results: s.Run(ctx, o.Server, o.Wanted, o.Watch)})
	}
	r.Left = o.Server.Clean(ctx)
	r.Interrupted = ctx.Err() != nil
	r.Seconds = time.Since(began).Seconds()
	return r
}
