package inspect

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/page"
	"github.com/apbridge/apbridge/mapping"
	"github.com/gorilla/mux"
	"go.uber.org/zap"
)

// Root is the path of the first page.
const Root = "/inspect"

// Owns reports whether a path belongs to the inspector.
func Owns(path string) bool { return path == Root || strings.HasPrefix(path, Root+"/") }

// RunIn returns the id of the run that a page is about, or "".
func RunIn(path string) string { return adapter.RunIn([]string{Root + "/runs/{run}"}, path) }

// Options configure the pages.
type Options struct {
	Service  adapter.Service
	Dialects adapter.Dialects
	Version  string
	Log      *zap.Logger
	// About returns facts about agents that the service does not know.
	About About
	// DefaultAgent returns the name of the agent for requests that name none, or "".
	DefaultAgent func() string
	// Heartbeat is the interval between heartbeats of an event stream.
	Heartbeat time.Duration
	// URL returns the address at which the caller can reach the clients' routes, without a trailing slash.
	URL func(*http.Request) string
	// Keys reports whether clients need a key.
	Keys func() bool
	// Kept returns how long stateless runs and failed stateless runs are kept after their end.
	Kept func() (stateless, failed time.Duration)
	// Failed is called with the code of each request that fails. It may be nil.
	Failed func(code string)
}

// server serves all pages. Safe for concurrent use.
type server struct {
	Options
	marks *marks
}

func newServer(o Options) *server {
	return &server{Options: o, marks: newMarks()}
}

type handler = func(s *server, w http.ResponseWriter, r *http.Request) error

// route is one method of one path, with its rights and its effect for the audit log.
type route struct {
	method, path string // the path below Root
	needs        []string
	effect       adapter.Effect
	serve        handler
}

var (
	// mayRead are the rights for pages that show stored data.
	mayRead = []string{mapping.RightInspect, mapping.RightRead}
	// mayRun are the rights for forms that make an agent work.
	mayRun = []string{mapping.RightInspect, mapping.RightRead, mapping.RightRun}

	readsRun      = adapter.Effect{Verb: mapping.Read, Kind: "run"}
	readsThread   = adapter.Effect{Verb: mapping.Read, Kind: "thread"}
	readsArtifact = adapter.Effect{Verb: mapping.Read, Kind: "artifact"}
	readsAgents   = adapter.Effect{Verb: mapping.Read, Kind: "assistant"}
	createsRun    = adapter.Effect{Verb: mapping.Created, Kind: "run"}
	answersRun    = adapter.Effect{Verb: mapping.Answered, Kind: "run"}
	cancelsRun    = adapter.Effect{Verb: mapping.Cancelled, Kind: "run"}
)

var routes = []route{
	{"GET", "/web/{file}", []string{mapping.RightInspect}, adapter.Effect{}, (*server).asset},

	{"GET", "", mayRead, readsRun, (*server).runsPage},
	{"GET", "/", mayRead, readsRun, (*server).withoutSlash},
	{"GET", "/events", mayRead, readsRun, (*server).followRuns},
	{"GET", "/overview", mayRead, readsRun, (*server).overviewPage},
	{"GET", "/overview/events", mayRead, readsRun, (*server).followOverview},

	{"GET", "/runs/{run_id}", mayRead, readsRun, (*server).runPage},
	{"GET", "/runs/{run_id}/events", mayRead, readsRun, (*server).followRun},
	{"GET", "/runs/{run_id}/log/{seq}", mayRead, readsRun, (*server).eventPage},
	{"GET", "/runs/{run_id}/log/{seq}/{part}", mayRead, readsRun, (*server).eventBytes},
	{"GET", "/runs/{run_id}/calls/{n}", mayRead, readsRun, (*server).callPage},
	{"GET", "/runs/{run_id}/calls/{n}/{side}", mayRead, readsRun, (*server).callBytes},
	{"GET", "/runs/{run_id}/export/{form}", mayRead, readsRun, (*server).exportRun},
	{"GET", "/runs/{run_id}/again", mayRead, readsRun, (*server).againPage},
	{"POST", "/runs/{run_id}/again", mayRun, createsRun, (*server).runAgain},
	{"POST", "/runs/{run_id}/cancel", mayRun, cancelsRun, (*server).cancel},

	{"GET", "/compare", mayRead, readsRun, (*server).comparePage},

	{"GET", "/threads/{thread_id}", mayRead, readsThread, (*server).threadPage},
	{"GET", "/threads/{thread_id}/events", mayRead, readsThread, (*server).followThread},
	{"GET", "/threads/{thread_id}/files/{version}", mayRead, readsArtifact, (*server).threadFile},
	{"GET", "/threads/{thread_id}/files/{version}/preview", mayRead, readsArtifact, (*server).filePreview},
	{"GET", "/threads/{thread_id}/difference", mayRead, readsThread, (*server).differencePage},
	{"GET", "/threads/{thread_id}/checkpoints/{checkpoint_id}", mayRead, readsThread, (*server).checkpointPage},
	{"GET", "/threads/{thread_id}/checkpoints/{checkpoint_id}/values", mayRead, readsThread, (*server).checkpointValues},
	{"GET", "/threads/{thread_id}/checkpoints/{checkpoint_id}/messages/{index}", mayRead, readsThread, (*server).checkpointMessage},
	{"POST", "/threads/{thread_id}/answer", mayRun, answersRun, (*server).answer},
	{"POST", "/threads/{thread_id}/fork", mayRun, createsRun, (*server).fork},

	{"GET", "/agents", mayRead, readsAgents, (*server).agentsPage},
	{"POST", "/agents/{agent}/try", mayRun, createsRun, (*server).try},
}

// Mount adds the routes to r.
func Mount(r *mux.Router, o Options) {
	s := newServer(o)
	for _, one := range routes {
		methods := []string{one.method}
		if one.method == http.MethodGet {
			methods = append(methods, http.MethodHead)
		}
		r.Path(Root + one.path).Methods(methods...).Handler(adapter.Operation{Handler: s.handle(one), Needs: one.needs})
	}
}

// Effect returns the effect of a route, by its method and the template of its path.
func Effect(method, template string) (adapter.Effect, bool) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for _, one := range routes {
		if one.method == method && Root+one.path == template {
			return one.effect, one.effect.Kind != ""
		}
	}
	return adapter.Effect{}, false
}

// Tab returns the tab that leads from the bridge's other pages to the inspector. It is empty for callers without the
// rights.
func Tab(who mapping.Principal) []page.Tab {
	if who.Need(mayRead...) != nil {
		return nil
	}
	return []page.Tab{page.Inspector}
}

// mayAct reports whether the caller may make an agent work.
func mayAct(ctx context.Context) bool { return mapping.PrincipalOf(ctx).Need(mayRun...) == nil }

// refOf returns the run that a request names.
func refOf(r *http.Request) adapter.RunRef { return adapter.RunRef{RunID: mux.Vars(r)["run_id"]} }

func threadOf(r *http.Request) string { return mux.Vars(r)["thread_id"] }

func isNotFound(err error) bool { return err != nil && mapping.Classify(err).Class == mapping.NotFound }

func notFound(message string) error {
	return mapping.Errorf(mapping.NotFound, mapping.CodeRouteNotFound, "%s", message)
}

// flavour returns the flavour of a new run: that of the run it continues or, without one, the first in the table of
// dialects, because the inspector has no flavour of its own.
func (s *server) flavour(of mapping.Flavour) mapping.Flavour {
	for _, d := range s.Dialects {
		if len(d.Flavours) > 0 {
			return cmp.Or(of, d.Flavours[0].Name)
		}
	}
	return of
}
