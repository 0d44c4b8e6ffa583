// Package front is the two pages that a person meets first: / shows what this is, the agents and their health, and
// /docs how they are used. The bridge mounts it. Both show only what the caller's key may use of the agents, and
// nothing of them without a key where keys are asked for. The pages name no dialect.
//
// An agent is asked for its health at most once in 30 seconds, however many look. The time of others' answers is shown
// only to principals that may read the metrics. The URL that a page shows is the one that the caller used.
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

// Options are what the pages tell of.
type Options struct {
	Version  string
	Dialects adapter.Dialects
	// Config is the configuration in force.
	Config func() *config.Config
	// Agent is a configured agent, nil where it has just been taken away.
	Agent func(name string) Agent
	// Health asks the agents for their health; nil: one of the pages' own.
	Health *Checkups
	// Answered is when an agent answered a call last; the zero time: not since the start. nil: not known.
	Answered func(name string) time.Time
	// Caller is what is known of the caller of a request, besides its principal.
	Caller func(context.Context) Caller
	// More are the tabs that a caller has besides; nil: none.
	More func(mapping.Principal) []page.Tab
	Log  *zap.Logger
}

// Agent is one configured agent. Safe for concurrent use.
type Agent interface {
	// Dialect is what it speaks, "" while that is not known.
	Dialect() string
	// Backend is how it is called, which may have to be asked for.
	Backend(ctx context.Context) (adapter.Backend, adapter.Traits, error)
}

// Caller is what is known of a caller.
type Caller struct {
	URL   string // where the caller found the bridge, with no slash at its end, of plain characters alone
	Fault error  // why its key opens nothing; nil: it is good, or none is needed
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

// front is what both pages share.
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
		http.Error(w, "The page could not be made; the log has the cause.", http.StatusInternalServerError)
	}
}

// standing is how a caller stands to the bridge.
type standing struct {
	URL    string
	Keys   bool   // the bridge asks for keys
	Notice string // why the caller is shown no agent
}

func (f *front) standing(r *http.Request) standing {
	c := f.Caller(r.Context())
	s := standing{URL: c.URL, Keys: f.Config().Auth.Said()}
	if c.Fault != nil {
		s.Notice = cmp.Or(sentence(c.Fault), "The key is not good.")
	}
	return s
}
