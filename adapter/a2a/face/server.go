package face

import (
	"net/http"
	"strings"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/a2a/wire"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/gorilla/mux"
	"go.uber.org/zap"
)

// server serves the dialect's routes. Its operations are in one file per noun. It keeps no state and is safe for
// concurrent use.
type server struct {
	svc      adapter.Service
	face     adapter.Face
	cfg      config.A2A
	log      *zap.Logger
	reader   *wire.Reader
	waitBeat time.Duration // how long a blocking send may be silent before it sends a line break
}

// root is the path below which each agent has its URL.
const root = "/a2a/"

// The paths of cards (S 8.2). Clients of 0.2 request the second one.
var wellKnown = []string{"/.well-known/agent-card.json", "/.well-known/agent.json"}

// endpoint is an operation of HTTP+JSON.
type endpoint struct {
	method, path string // path is that of 1.0, below the URL of the agent
	op           wire.Method
}

// endpoints are the operations of HTTP+JSON (S 11.3). Paths with an action come before those that would also match them.
var endpoints = []endpoint{
	{http.MethodPost, "/message:send", wire.MethodSendMessage},
	{http.MethodPost, "/message:stream", wire.MethodSendStreamingMessage},
	{http.MethodGet, "/tasks/{task}:subscribe", wire.MethodSubscribeToTask},
	{http.MethodPost, "/tasks/{task}:subscribe", wire.MethodSubscribeToTask},
	{http.MethodPost, "/tasks/{task}:cancel", wire.MethodCancelTask},
	{http.MethodGet, "/tasks/{task}", wire.MethodGetTask},
	{http.MethodGet, "/tasks", wire.MethodListTasks},
	{http.MethodPost, "/tasks/{task}/pushNotificationConfigs", wire.MethodCreatePushConfig},
	{http.MethodGet, "/tasks/{task}/pushNotificationConfigs", wire.MethodListPushConfigs},
	{http.MethodGet, "/tasks/{task}/pushNotificationConfigs/{config}", wire.MethodGetPushConfig},
	{http.MethodDelete, "/tasks/{task}/pushNotificationConfigs/{config}", wire.MethodDeletePushConfig},
	{http.MethodGet, "/extendedAgentCard", wire.MethodGetExtendedAgentCard},
}

// rights are the rights that the operations need.
var rights = map[wire.Method]string{
	wire.MethodSendMessage: mapping.RightRun, wire.MethodSendStreamingMessage: mapping.RightRun, wire.MethodCancelTask: mapping.RightRun,
	wire.MethodCreatePushConfig: mapping.RightRun, wire.MethodDeletePushConfig: mapping.RightRun,
	wire.MethodGetTask: mapping.RightRead, wire.MethodListTasks: mapping.RightRead, wire.MethodSubscribeToTask: mapping.RightRead,
	wire.MethodGetPushConfig: mapping.RightRead, wire.MethodListPushConfigs: mapping.RightRead, wire.MethodGetExtendedAgentCard: mapping.RightRead,
}

// Mount adds the face's routes to r. They answer from svc.
func Mount(r *mux.Router, svc adapter.Service, face adapter.Face) {
	s := &server{svc: svc, face: face, log: face.Log, waitBeat: 15 * time.Second}
	s.cfg, _ = face.Section.(config.A2A)
	if s.log == nil {
		s.log = zap.NewNop()
	}
	if s.face.Heartbeat <= 0 {
		s.face.Heartbeat = 15 * time.Second
	}
	s.reader = wire.NewReader(wire.Limits{Bytes: int(face.Limits.Body), Depth: face.Limits.MaxJSONDepth, Count: face.Limits.Messages})
	s.mount(r)
}

func (s *server) mount(r *mux.Router) {
	const agent = root + "{agent}"
	// JSON-RPC: the operation is in the body, so its right is checked by dispatch. Clients that resolve the card's path
	// against the URL need the slash at its end, and some call that URL.
	for _, path := range []string{agent, agent + "/"} {
		r.Path(path).Methods(http.MethodPost).Handler(adapter.Anybody(s.served(s.serveRPC)))
	}
	for _, e := range endpoints {
		methods := []string{e.method}
		if e.method == http.MethodGet && !e.op.Streams() {
			methods = append(methods, http.MethodHead)
		}
		for _, path := range []string{e.path, wire.LegacyPath(e.path)} {
			r.Path(agent + path).Methods(methods...).Handler(adapter.Operation{Handler: s.served(s.serveHTTP), Needs: []string{rights[e.op]}})
		}
	}
	for _, path := range wellKnown {
		r.Path(path).Methods(http.MethodGet, http.MethodHead).Handler(adapter.Anybody(s.served(s.defaultCard)))
		r.Path(agent+path).Methods(http.MethodGet, http.MethodHead).Handler(adapter.Anybody(s.served(s.agentCard)))
	}
	r.NewRoute().Handler(adapter.Anybody(s.served(s.noRoute)))
}

// PublicPaths returns the paths that need no key if the cards are public. The last one is where clients look that
// resolve the card's path against a URL without a slash at its end. They get advice.
func PublicPaths() []string {
	var list []string
	for _, path := range wellKnown {
		list = append(list, path, root+"{agent}"+path, strings.TrimSuffix(root, "/")+path)
	}
	return list
}

// served returns a handler that answers an error of serve in the form of HTTP+JSON.
func (s *server) served(serve func(w http.ResponseWriter, r *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := error(notServed)
		if s.cfg.Enabled {
			err = serve(w, r)
		}
		if err != nil {
			t, _, _ := target(r)
			s.fail(&call{w: w, r: r, version: t.Version}, err)
		}
	})
}

var notServed = mapping.Errorf(mapping.NotFound, mapping.CodeRouteNotFound, "A2A is not served here (a2a.enabled).")

// noRoute refuses a request without a matching route.
func (s *server) noRoute(w http.ResponseWriter, r *http.Request) error {
	agent, path, _ := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), root), "/")
	switch {
	case agent == ".well-known":
		return mapping.Errorf(mapping.NotFound, mapping.CodeRouteNotFound,
			"There is no agent card here. The URL of an agent needs a slash at its end when its card is resolved against it: use %sNAME/.", root)
	case agent != "" && path == "":
		w.Header().Set("Allow", http.MethodPost)
		return notAllowed(r, http.MethodPost+" with a JSON-RPC request. The agent's card is at "+root+agent+wellKnown[0])
	}
	if _, allow, _ := target(r); allow != "" {
		w.Header().Set("Allow", allow)
		return notAllowed(r, allow)
	}
	return mapping.Errorf(mapping.NotFound, mapping.CodeRouteNotFound, "There is nothing at this path. Agents are at %sNAME, their cards at %sNAME%s.", root, root, wellKnown[0])
}

func notAllowed(r *http.Request, allow string) error {
	return mapping.Errorf(mapping.NotAllowed, mapping.CodeInvalid, "This path does not take %s. It takes %s.", r.Method, allow)
}

// storable reports whether an id could be one of ours. Other strings are legal ids of tasks that cannot exist, and need
// no query.
func storable(id string) bool { return len(id) <= 256 && mapping.IsText(id) }
