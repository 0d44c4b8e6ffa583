// Package front serves two HTML pages: / describes the bridge, its agents and their health, and /docs how to use them.
// The bridge mounts it. Both show only the agents that the caller's key may use, and none to a caller without a
// required key. The package knows no particular dialect. Start reading at Pages.
//
// Each agent is checked at most once in 30 seconds for all visitors together. The time of answers to others is only
// shown to principals that may read the metrics. The bridge's URL on a page is the one that the caller used.
package front

import (
	"cmp"
	"context"
	_ "embed"
	"net/http"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/page"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"go.uber.org/zap"
)

// Options are the sources of the pages.
type Options struct {
	Version  string
	Dialects adapter.Dialects
	// Config returns the current configuration.
	Config func() *config.Config
	// Agent returns a configured agent, or nil if it was just removed.
	Agent func(name string) Agent
	// Health checks the agents; nil means new Checkups.
	Health *Checkups
	// Answered returns the time of an agent's newest answer, or zero if there has been none since the start. nil means
	// that the time is unknown.
	Answered func(name string) time.Time
	// Caller returns information about the caller of a request, besides its principal.
	Caller func(context.Context) Caller
	// More returns additional tabs for a caller; nil means none.
	More func(mapping.Principal) []page.Tab
	Log  *zap.Logger
}

// Agent is one configured agent. Safe for concurrent use.
type Agent interface {
	// Dialect returns its dialect, or "" if unknown.
	Dialect() string
	// Backend returns its backend, which may require detecting its dialect.
	Backend(ctx context.Context) (adapter.Backend, adapter.Traits, error)
}

// Caller has information about a caller.
type Caller struct {
	URL   string // the bridge's URL for the caller, without a trailing slash, in plain characters
	Fault error  // why its key is invalid; nil if it is valid or not needed
}

var (
	//go:embed home.html
	homeText string
	//go:embed docs.html
	docsText string
)

// Pages returns the handlers of both pages, by their paths.
func Pages(o Options) (map[string]http.Handler, error) {
	if o.Health == nil {
		o.Health = NewCheckups()
	}
	f := &front{Options: o, home: page.New(homeText, page.Functions()), docs: page.New(docsText, page.Functions())}
	for _, d := range o.Dialects.Documents() {
		routes, err := readRoutes(d)
		if err != nil {
			return nil, err
		}
		f.routes = append(f.routes, routes)
	}
	return map[string]http.Handler{"/": http.HandlerFunc(f.serveHome), "/docs": http.HandlerFunc(f.serveDocs)}, nil
}

// front is shared by both pages.
type front struct {
	Options
	home, docs *page.Page
	routes     []document
}

// answer sends a page.
func (f *front) answer(w http.ResponseWriter, r *http.Request, p *page.Page, v page.View) {
	v.Version = f.Version
	if f.More != nil {
		v.More = f.More(mapping.PrincipalOf(r.Context()))
	}
	if err := p.Answer(w, r, v); err != nil {
		f.Log.Error("page could not be rendered", zap.Error(err))
		http.Error(w, "The page could not be rendered; see the log for the cause.", http.StatusInternalServerError)
	}
}

// standing describes what a caller may see.
type standing struct {
	URL    string
	Keys   bool   // the bridge requires keys
	Notice string // why the caller sees no agents
}

func (f *front) standing(r *http.Request) standing {
	c := f.Caller(r.Context())
	s := standing{URL: c.URL, Keys: f.Config().Auth.Said()}
	if c.Fault != nil {
		s.Notice = cmp.Or(mapping.Classify(c.Fault).Message, "The key is invalid.")
	}
	return s
}
