package face

import (
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/gorilla/mux"
)

// style holds the differences between the responses of the protocol's versions.
type style struct {
	invalid int    // status of an invalid request
	created int    // status of a POST that created something
	root    string // path of its first collection, for messages
	flavour mapping.Flavour
}

var (
	v1 = style{invalid: http.StatusUnprocessableEntity, created: http.StatusOK, root: "/ap/v1/agent/tasks", flavour: FlavourTaskStep}
	v2 = style{invalid: http.StatusBadRequest, created: http.StatusCreated, root: "/ap/v2/topics", flavour: FlavourTopic}
)

// server serves one version of the protocol. It keeps no state and is safe for concurrent use.
type server struct {
	svc   adapter.Service
	face  adapter.Face
	style style
}

// operation responds to one request for ref. If it returns an error, it has written nothing.
type operation func(w http.ResponseWriter, r *http.Request, ref adapter.TaskRef) error

// endpoint is an operation at a path below a prefix.
type endpoint struct {
	method, path string
	op           operation
	need         string // the right that it requires
}

// Mount adds the face's routes to r: those of both versions, and those used before September 2023, below each of their
// prefixes.
func Mount(r *mux.Router, svc adapter.Service, face adapter.Face) {
	if face.Heartbeat <= 0 {
		face.Heartbeat = 15 * time.Second
	}
	first, second := &server{svc: svc, face: face, style: v1}, &server{svc: svc, face: face, style: v2}
	for _, chosen := range []string{"", "/agents/{agent}"} {
		below := r.PathPrefix(chosen + "/ap/v1").Subrouter()
		first.mountOperations(below, first.endpoints("/agent"))
		first.mountHeartbeat(below)
		first.mountRest(below)
		below = r.PathPrefix(chosen + "/ap/v2").Subrouter()
		second.mountOperations(below, second.topicEndpoints())
		second.mountRest(below)
	}
	// The prefix used before September 2023.
	old := r.PathPrefix("/agent/").Subrouter()
	first.mountOperations(old, first.endpoints(""))
	old.PathPrefix("/tasks/").Handler(adapter.Anybody(http.HandlerFunc(first.noRoute)))
}

// endpoints returns the operations on tasks below a prefix. The router tries them in this order, so the most frequently
// called come first.
func (s *server) endpoints(prefix string) []endpoint {
	all, one := prefix+"/tasks", prefix+"/tasks/{task}"
	return []endpoint{
		{http.MethodPost, one + "/steps", s.executeStep, mapping.RightRun},
		{http.MethodPost, all, s.createTask, mapping.RightRun},
		{http.MethodGet, one, s.getTask, mapping.RightRead},
		{http.MethodGet, one + "/steps", s.listSteps, mapping.RightRead},
		{http.MethodGet, one + "/artifacts", s.listArtifacts, mapping.RightRead},
		{http.MethodGet, one + "/artifacts/{artifact}", s.downloadArtifact, mapping.RightRead},
		{http.MethodPost, one + "/artifacts", s.uploadArtifact, mapping.RightWrite},
		{http.MethodGet, one + "/steps/{step}", s.getStep, mapping.RightRead},
		{http.MethodGet, all, s.listTasks, mapping.RightRead},
		{http.MethodPost, one + "/cancel", s.cancelTask, mapping.RightRun},
	}
}

// mountOperations adds the endpoints, and 405 for other methods on their paths.
func (s *server) mountOperations(r *mux.Router, list []endpoint) {
	allowed := map[string][]string{}
	for _, e := range list {
		methods := []string{e.method}
		if e.method == http.MethodGet {
			methods = append(methods, http.MethodHead)
		}
		allowed[e.path] = append(allowed[e.path], methods...)
		r.Path(e.path).Methods(methods...).Handler(adapter.Operation{Handler: s.handle(e.op), Needs: []string{e.need}})
	}
	for _, e := range list {
		if methods, ok := allowed[e.path]; ok {
			r.Path(e.path).Handler(adapter.Anybody(s.refuseMethod(methods)))
			delete(allowed, e.path)
		}
	}
}

// mountHeartbeat adds the heartbeat of the server, which does not depend on its agents.
func (s *server) mountHeartbeat(r *mux.Router) {
	r.Path("/heartbeat").Methods(http.MethodGet, http.MethodHead).Handler(adapter.Anybody(http.HandlerFunc(heartbeat)))
	r.Path("/heartbeat").Handler(adapter.Anybody(s.refuseMethod([]string{http.MethodGet, http.MethodHead})))
}

// mountRest refuses everything else below a prefix, so that clients never see another dialect's error or plain text.
// With a subrouter for each prefix, requests for other dialects need one comparison instead of forty.
func (s *server) mountRest(r *mux.Router) {
	rest := adapter.Anybody(http.HandlerFunc(s.noRoute))
	r.Path("").Handler(rest)
	r.PathPrefix("/").Handler(rest)
}

func (s *server) handle(op operation) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ref, err := s.ref(r)
		if err == nil {
			err = keyFault(r.Header)
		}
		if err == nil {
			err = op(w, r, ref)
		}
		if err != nil {
			s.fail(w, r, err)
		}
	})
}

// keyFault refuses an Idempotency-Key that is not text.
func keyFault(h http.Header) error {
	if mapping.IsText(h.Get(adapter.IdempotencyKeyHeader)) {
		return nil
	}
	return invalid("header", adapter.IdempotencyKeyHeader, "UTF-8 without U+0000")
}

// ref returns the agent, topic and task named in the path.
func (s *server) ref(r *http.Request) (adapter.TaskRef, error) {
	vars := mux.Vars(r)
	agent, err := s.agent(vars["agent"])
	if err != nil {
		return adapter.TaskRef{}, err
	}
	ref := adapter.TaskRef{Agent: agent, Topic: vars["topic"], ID: vars["task"], Flavour: s.style.flavour}
	if !storable(ref.Topic) {
		return ref, mapping.Errorf(mapping.NotFound, mapping.CodeThreadNotFound, "There is no topic with this id.")
	}
	if !storable(ref.ID) {
		return ref, mapping.Errorf(mapping.NotFound, mapping.CodeTaskNotFound, "There is no task with this id.")
	}
	return ref, nil
}

// agent returns the configured name of the agent. chosen is empty on the routes of the default agent.
func (s *server) agent(chosen string) (string, error) {
	if chosen != "" {
		if _, ok := s.face.Agents[chosen]; ok {
			return chosen, nil
		}
		return "", mapping.Errorf(mapping.NotFound, mapping.CodeAgentNotFound, "There is no agent with this name.")
	}
	if s.face.DefaultAgent == "" {
		return "", mapping.Errorf(mapping.NotFound, mapping.CodeAgentNotFound,
			"No agent is the default one here. Call /agents/{name}%s instead, or set default_agent.", s.style.root)
	}
	return s.face.DefaultAgent, nil
}

// storable reports whether an id could exist in the database. Other strings are legal ids of objects that cannot exist,
// so they need no query.
func storable(id string) bool {
	return len(id) <= 256 && mapping.IsText(id)
}

func (s *server) refuseMethod(allowed []string) http.Handler {
	allowed = slices.Compact(slices.Sorted(slices.Values(allowed)))
	allow := strings.Join(allowed, ", ")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", allow)
		s.fail(w, r, mapping.Errorf(mapping.NotAllowed, mapping.CodeInvalid,
			"This path does not take %s. It takes %s.", r.Method, allow))
	})
}

func (s *server) noRoute(w http.ResponseWriter, r *http.Request) {
	s.fail(w, r, mapping.Errorf(mapping.NotFound, mapping.CodeRouteNotFound,
		"There is nothing at this path. The %s are at %s.", path.Base(s.style.root), s.style.root))
}

func heartbeat(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("Server is running."))
}
